//! What both adapters share.

use crate::Choice;
use playpath_cc::AppParameters;
use playpath_transport::quic::Driven;
use playpath_units::Time;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What the application tells the control of one connection, from any thread: the viewer's buffer, the rates it can choose from.
#[derive(Clone, Debug, Default)]
pub struct ViewerInfo(Arc<Mutex<Option<AppParameters>>>);

impl ViewerInfo {
    /// The control receives it with the next packet.
    pub fn set_app_parameters(&self, parameters: AppParameters) {
        *lock(&self.0) = Some(parameters);
    }
}

/// Nothing that is guarded can be left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A control at work. Asking for the window may tell it of the last ACK: hence the lock.
pub(crate) struct State {
    pub choice: Choice,
    pub viewer: ViewerInfo,
    pub mtu: u16,
    zero: Instant,
    driven: Mutex<Driven>,
}

impl State {
    pub fn new(choice: Choice, viewer: ViewerInfo, mtu: u16, now: Instant) -> State {
        let driven = Driven::new(choice.build(), mtu.into(), choice.first_window());
        State { choice, viewer, mtu, zero: now, driven: Mutex::new(driven) }
    }

    /// On a path of its own: nothing is known of that yet.
    pub fn anew(&self) -> State {
        let driven = Driven::new(self.choice.build(), self.mtu.into(), self.choice.first_window());
        State {
            choice: self.choice.clone(),
            viewer: self.viewer.clone(),
            mtu: self.mtu,
            zero: self.zero,
            driven: Mutex::new(driven),
        }
    }

    pub fn at(&self, now: Instant) -> Time {
        Time::from_nanos(u64::try_from(now.saturating_duration_since(self.zero).as_nanos()).unwrap_or(u64::MAX))
    }
    /// To change, and with what the application said since.
    pub fn driven(&mut self) -> &mut Driven {
        let driven = self.driven.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(parameters) = lock(&self.viewer.0).take() {
            driven.set_app_parameters(parameters);
        }
        driven
    }
    pub fn look<T>(&self, at: impl FnOnce(&mut Driven) -> T) -> T {
        at(&mut lock(&self.driven))
    }
    pub fn set_mtu(&mut self, mtu: u16) {
        self.mtu = mtu;
        self.driven().set_datagram_bytes(mtu.into());
    }
    pub fn initial_window(&self) -> u64 {
        (self.choice.first_window() * f64::from(self.mtu)) as u64
    }
    pub fn ssthresh(&self) -> Option<u64> {
        let packets = self.look(|driven| driven.control().ssthresh());
        packets.is_finite().then_some((packets * f64::from(self.mtu)) as u64)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("control", &self.choice.entry.name).finish_non_exhaustive()
    }
}
