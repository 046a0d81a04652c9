# One dumbbell in ns-2: FLOWS NewReno flows, RATE Mbit/s, base RTT 50 ms, tail-drop queue of one BDP, DURATION s.
# Prints the data packets sent by the servers.
lassign $argv flows rate duration
set ns [new Simulator]
$ns use-scheduler Heap
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate}Mb 25ms DropTail
$ns queue-limit $left $right [expr int($rate * 1e6 * 0.05 / 8 / 1500)]
$ns queue-limit $right $left 1000000
for {set i 0} {$i < $flows} {incr i} {
  set source($i) [new Agent/TCP/Newreno]
  set sink [new Agent/TCPSink]
  $source($i) set packetSize_ 1448
  $source($i) set window_ 1000000
  $ns attach-agent $left $source($i)
  $ns attach-agent $right $sink
  $ns connect $source($i) $sink
  set ftp [new Application/FTP]
  $ftp attach-agent $source($i)
  $ns at [expr 1.0 * $i / $flows] "$ftp start"
}
$ns at $duration {
  set packets 0
  for {set i 0} {$i < $flows} {incr i} { incr packets [$source($i) set ndatapack_] }
  puts "packets $packets"
  exit 0
}
$ns run
