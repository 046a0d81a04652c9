//! When a holding loader ends: on SIGTERM, SIGINT or SIGHUP, and, if asked, with its standard input.

use std::mem::MaybeUninit;

/// End this process, as SIGTERM does, when standard input reaches its end: a pipe from a test bed closes even if the test bed
/// is killed. (A death signal of the parent would come too early: Linux sends it when the parent's *thread* ends.)
pub fn end_with_stdin() {
    std::thread::spawn(|| {
        // An error on standard input is an end of it too.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        // SAFETY: a signal to ourselves; SIGTERM is blocked and waited for.
        unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
    });
}

/// End quietly when nobody reads the output any more (`playpath-bpf list | head`), as other programs do.
pub fn end_with_reader() {
    // SAFETY: restores the default action, which Rust's start-up code replaced.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Block the ending signals, so that none arrives between registering and waiting.
pub fn block_signals() {
    let set = ending_signals();
    // SAFETY: `set` is a valid signal set; the old mask is not wanted.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
}

/// Wait for one of the blocked signals.
pub fn wait_for_signal() {
    let set = ending_signals();
    let mut signal = 0;
    // SAFETY: both pointers are valid for the call.
    while unsafe { libc::sigwait(&set, &mut signal) } != 0 {}
}

fn ending_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set before sigaddset reads it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}
