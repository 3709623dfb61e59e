"""What stands between a file and the machine: which operators it may call, with what, on whose memory, how long."""
