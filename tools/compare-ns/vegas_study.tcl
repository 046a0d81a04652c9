# A cell of the study `vegas` in ns-2.35; vegas_study.py writes the arguments and judges the output.
# Arguments: NAME VALUE pairs, see `cell` below. Prints time and sequence number of each packet of the stream that reaches the
# client, and on stderr time and length of the bottleneck's queue every 20 ms.
array set cell {
	agent Newreno media 1 rtt 50 loss 0 ftp 4 web 10 queue DropTail seconds 300 seed 1 gamma 1 window 10000 red_mean 1000
	heartbeat 0.1 xfactor 8 spread 5 overhead 0.0008 web_kb 50 sink TCPSink
}
array set cell $argv
ns-random $cell(seed)
set ns [new Simulator]
$ns use-scheduler Heap
set left [$ns node]
set right [$ns node]
Queue/RED set bytes_ true
Queue/RED set queue_in_bytes_ true
Queue/RED set mean_pktsize_ $cell(red_mean)
$ns simplex-link $left $right 10Mb [expr $cell(rtt) / 2.0]ms $cell(queue)
$ns simplex-link $right $left 10Mb [expr $cell(rtt) / 2.0]ms DropTail
$ns queue-limit $left $right 50
$ns queue-limit $right $left 1000
if {$cell(loss) > 0} {
	set errors [new ErrorModel]
	$errors unit pkt
	$errors set rate_ $cell(loss)
	$errors ranvar [new RandomVariable/Uniform]
	$errors drop-target [new Agent/Null]
	$ns link-lossmodel $errors $left $right
}

proc uniform {low high} {
	return [expr $low + ($high - $low) * [ns-random] / 2147483647.0]
}

# A flow between nodes of its own, `extra` ms longer in all than the path.
proc flow {agent extra} {
	global ns left right cell client
	set server [$ns node]
	set client [$ns node]
	$ns duplex-link $server $left 100Mb [expr $extra / 2.0 + 0.001]ms DropTail
	$ns duplex-link $right $client 100Mb 0.001ms DropTail
	$ns queue-limit $server $left 100000
	$ns queue-limit $right $client 100000
	set tcp [new Agent/TCP/$agent]
	$tcp set window_ $cell(window)
	$tcp set packetSize_ 1000
	$tcp set overhead_ $cell(overhead)
	set sink [new Agent/$cell(sink)]
	$ns attach-agent $server $tcp
	$ns attach-agent $client $sink
	$ns connect $tcp $sink
	return $tcp
}

# The stream.
set stream [flow $cell(agent) 0]
if {$cell(agent) == "Vegas"} {
	$stream set v_alpha_ 8
	$stream set v_beta_ 8
	$stream set v_gamma_ $cell(gamma)
}
set packets [expr int($cell(media) * 1e6 * $cell(seconds) / 8 / 1000)]
set chunk [expr int(ceil($cell(media) * 1e6 * $cell(xfactor) * $cell(heartbeat) / 8 / 1000))]
set written 0
proc beat {} {
	global ns stream packets chunk written cell
	set more [expr min($chunk, $packets - $written)]
	if {$more <= 0} { return }
	$stream advanceby $more
	incr written $more
	$ns at [expr [$ns now] + $cell(heartbeat)] beat
}
$ns at 0.0 beat
set pipe [open "|awk {\$1 == \"r\" && \$5 == \"tcp\" {print \$2, \$11}}" w]
$ns trace-queue $right $client $pipe

# The background: RTTs of 20 to 440 ms in all, never below the path's; Pareto with shape 1.2.
proc background {} {
	global cell
	set drawn [uniform 20 440]
	return [flow Newreno [expr max(0, $drawn - $cell(rtt))]]
}
for {set i 0} {$i < $cell(ftp)} {incr i} {
	set ftp [new Application/FTP]
	$ftp attach-agent [background]
	$ns at [uniform 0 $cell(spread)] "$ftp start"
}
proc ask {tcp} {
	global ns cell
	set least [expr $cell(web_kb) * 0.2 / 1.2]
	set size [expr $least / pow(1 - [uniform 0 1], 1 / 1.2)]
	$tcp advanceby [expr int(ceil($size))]
	$ns at [expr [$ns now] - 0.5 * log(1 - [uniform 0 1])] "ask $tcp"
}
for {set i 0} {$i < $cell(web)} {incr i} {
	$ns at [uniform 0 $cell(spread)] "ask [background]"
}

set monitor [$ns monitor-queue $left $right ""]
proc watch {} {
	global ns monitor
	puts stderr [format "%.2f %d" [$ns now] [$monitor set pkts_]]
	$ns at [expr [$ns now] + 0.02] watch
}
$ns at 0.0 watch
proc finish {} {
	global pipe
	close $pipe
	exit 0
}
# All has come and is played; a stream that needs twice its length is late beyond any use.
$ns at [expr 1.05 * $cell(seconds)] {if {[$stream set ack_] >= $packets - 1} finish}
$ns at [expr 2.0 * $cell(seconds)] finish
$ns run
