# One flow over a lossy bottleneck in ns-2.35, for the table of docs/models/cc-vegas.md; prints its goodput in Mbit/s.
# Use: ns ns2-vegas.tcl AGENT LOSS SEED [RTT_MS], such as `ns ns2-vegas.tcl Vegas 0.01 1`; AGENT is one of Agent/TCP, LOSS a share.
# Debian has ns-2 as the package ns2. Our side: docs/models/cc-vegas.md names the settings.
lassign $argv agent loss seed rtt
if {$rtt == ""} { set rtt 50 }
set seconds 100.0
set ns [new Simulator]
ns-random $seed

set server [$ns node]
set router [$ns node]
set client [$ns node]
set delay [expr $rtt / 2.0]
$ns duplex-link $server $router 100Mb 1us DropTail
$ns queue-limit $server $router 100000
$ns simplex-link $router $client 10Mb ${delay}ms DropTail
$ns simplex-link $client $router 10Mb ${delay}ms DropTail
$ns queue-limit $router $client 50
$ns queue-limit $client $router 1000

# Behind the queue, as `loss_place = "after_queue"`.
set errors [new ErrorModel]
$errors unit pkt
$errors set rate_ $loss
$errors ranvar [new RandomVariable/Uniform]
$errors drop-target [new Agent/Null]
$ns link-lossmodel $errors $router $client

set tcp [new Agent/TCP/$agent]
$tcp set window_ 10000
$tcp set packetSize_ 1000
if {$agent == "Vegas"} {
	$tcp set v_alpha_ 8
	$tcp set v_beta_ 8
	$tcp set v_gamma_ 1
}
set sink [new Agent/TCPSink]
$ns attach-agent $server $tcp
$ns attach-agent $client $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp

proc finish {} {
	global tcp seconds
	puts [format "%.3f" [expr [$tcp set ack_] * 8e-3 / $seconds]]
	exit 0
}
$ns at 0.0 "$ftp start"
$ns at $seconds "finish"
$ns run
