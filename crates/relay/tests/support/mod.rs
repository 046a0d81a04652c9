//! The program as a child, an origin with a film, and a viewer.
#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the origin answers with.
pub const FILM: usize = 2 << 20;
/// A relay that hangs fails the test, and does not hold it up for ever.
pub const HANGS: Duration = Duration::from_secs(120);

pub fn byte(at: usize) -> u8 {
    (at / 7 % 251) as u8
}

/// A program that ends with the test.
pub struct Running {
    child: Child,
    told: Option<JoinHandle<String>>,
}

impl Running {
    pub fn start(arguments: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_playpath-relay"));
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let told = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).map(|_| text).unwrap()
        });
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        Running { child, told: Some(told) }
    }

    /// Most memory that it had, in kB.
    pub fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// What it said on standard error, after its end.
    pub fn end(mut self) -> String {
        self.child.kill().unwrap();
        self.told.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers each connection with the film; returns where, and how many came.
pub fn origin() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, came) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&came);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                if stream.read_exact(&mut [0; 4]).is_ok() {
                    let film: Vec<u8> = (0..FILM).map(byte).collect();
                    let _ = stream.write_all(&film);
                }
            });
        }
    });
    (address, came)
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A viewer asks for the film at this port. Error: how much of it came.
pub fn watch(port: &str) -> Result<(), usize> {
    let mut viewer = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    viewer.set_read_timeout(Some(HANGS)).unwrap();
    viewer.write_all(b"GET\n").unwrap();
    let mut film = Vec::new();
    let _ = viewer.read_to_end(&mut film);
    let is_right = film.len() == FILM && film.iter().enumerate().all(|(at, &found)| found == byte(at));
    if is_right { Ok(()) } else { Err(film.len()) }
}
