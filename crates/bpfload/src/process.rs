//! When a loader with `--hold` ends: on SIGTERM, SIGINT or SIGHUP and, if requested, at the end of its standard input.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The ending signals; they no longer end the process by themselves.
pub struct Ending {
    readable: UnixStream,
    written: UnixStream,
}

impl Ending {
    pub fn new() -> io::Result<Ending> {
        let (readable, written) = UnixStream::pair()?;
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::low_level::pipe::register(signal, written.try_clone()?)?;
        }
        Ok(Ending { readable, written })
    }

    /// Wait for one of them or, `with_stdin`, for the end of standard input: a pipe from a test bed closes even if the test bed is
    /// killed. (A death signal of the parent would come too early: Linux sends it when the parent's *thread* ends.)
    pub fn wait(mut self, with_stdin: bool) -> io::Result<()> {
        if with_stdin {
            let mut written = self.written;
            std::thread::spawn(move || {
                // An error on standard input is an end of it too.
                let _ = io::copy(&mut io::stdin(), &mut io::sink());
                let _ = io::Write::write(&mut written, &[0]);
            });
        }
        self.readable.read_exact(&mut [0])
    }
}
