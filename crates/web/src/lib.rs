//! The engine in a browser: text in, text and numbers out. Its JSON is byte for byte that of `playpath._engine`.
//!
//! The exports are plain functions, and the module imports nothing: no clock, no randomness. [`ask`] allocates a buffer for a request,
//! which the page writes there as JSON; [`call`] answers it; [`answer`] and [`numbers`] return the address of the answer, which is valid
//! until the next request. Each worker of the page has an engine of its own.

mod stage;

use stage::{Answer, Stage};
use std::cell::RefCell;

#[derive(Default)]
struct Session {
    asked: Vec<u8>,
    answer: Answer,
    stage: Stage,
}

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
}

/// Room for a question of `length` bytes of UTF-8. The answer before it is gone.
#[unsafe(no_mangle)]
pub extern "C" fn ask(length: usize) -> *mut u8 {
    SESSION.with_borrow_mut(|desk| {
        desk.answer = Answer::default();
        desk.asked = vec![0; length];
        desk.asked.as_mut_ptr()
    })
}

/// Answers the request. Returns true if [`answer`] is JSON, false if it is an error of one line.
#[unsafe(no_mangle)]
pub extern "C" fn call() -> bool {
    SESSION.with_borrow_mut(|desk| {
        let asked = std::mem::take(&mut desk.asked);
        let answered = desk.stage.answer(&asked);
        let is_answered = answered.is_ok();
        desk.answer = answered.unwrap_or_else(|error| Answer { text: error, numbers: Vec::new() });
        is_answered
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    SESSION.with_borrow(|desk| desk.answer.text.as_ptr())
}

/// Bytes of the answer's text, UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn answer_length() -> usize {
    SESSION.with_borrow(|desk| desk.answer.text.len())
}

/// Address of the answer's numbers: the columns of its series, one after the other.
#[unsafe(no_mangle)]
pub extern "C" fn numbers() -> *const f64 {
    SESSION.with_borrow(|desk| desk.answer.numbers.as_ptr())
}
