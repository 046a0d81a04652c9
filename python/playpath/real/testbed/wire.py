        """On a device of its own, which the client has a route to over each path."""
        where = ["--tun", _DEVICE, *(word for end in bed.ends for word in ("--address", address_on(end)))]
        server = self._start(bed, [*where, *(["--no-mptcp"] if len(bed.ends) == 1 else [])], described, signalling)
        for end in bed.ends:
            way = ("dev", end.client_device, "src", end.client_address)
            namespaces.run_ip("-n", bed.client, "route", "replace", address_on(end), *way)
        return server, "own"
