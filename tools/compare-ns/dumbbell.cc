// One dumbbell in ns-3: FLOWS NewReno flows, RATE Mbit/s, base RTT 50 ms, tail-drop queue of one BDP, DURATION s.
// Prints the data packets sent by the servers.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include <iostream>

using namespace ns3;

static uint64_t g_packets = 0;

static void
CountPacket(Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>)
{
    g_packets += packet->GetSize() > 0;
}

static void
Watch(Ptr<BulkSendApplication> application)
{
    application->GetSocket()->TraceConnectWithoutContext("Tx", MakeCallback(&CountPacket));
}

int
main(int argc, char* argv[])
{
    uint32_t flows = std::stoul(argv[1]);
    uint64_t rate = std::stoull(argv[2]);
    double duration = std::stod(argv[3]);
    uint32_t bdp = std::max<uint64_t>(1, rate * 1000000 * 50 / 1000 / 8 / 1500);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 26));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 26));
    Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue(std::to_string(bdp) + "p"));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(std::to_string(rate) + "Mbps"));
    link.SetChannelAttribute("Delay", StringValue("25ms"));
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper address("10.1.1.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = address.Assign(devices);
    // The queue is the device's, as in the other simulators.
    TrafficControlHelper().Uninstall(devices);
    for (uint32_t i = 0; i < flows; i++)
    {
        uint16_t port = 1000 + i;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(nodes.Get(1)).Start(Seconds(0));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), port));
        source.SetAttribute("SendSize", UintegerValue(1448));
        ApplicationContainer installed = source.Install(nodes.Get(0));
        Time start = Seconds(1.0 * i / flows);
        installed.Start(start);
        Simulator::Schedule(start + NanoSeconds(1), &Watch, DynamicCast<BulkSendApplication>(installed.Get(0)));
    }
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    std::cout << "packets " << g_packets << std::endl;
    Simulator::Destroy();
}
