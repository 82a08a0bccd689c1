//! What a service manager is told: that it records, and, again and again, that it still does.
//!
//! Source: `sd_notify(3)`, `sd_watchdog_enabled(3)`.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use howlate_model::{MonotonicTime, Span};

/// Whoever started this process as a service, if somebody did.
#[derive(Debug)]
pub(crate) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants to hear: half of the time after which it ends who is silent.
    every: Option<Span>,
    told: Option<MonotonicTime>,
}

impl ServiceManager {
    /// Of this process' environment, given a variable's value by its name.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<String>) -> Self {
        let address = variable("NOTIFY_SOCKET").and_then(|name| address(&name));
        let socket = address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        let micros = variable("WATCHDOG_USEC").and_then(|text| text.parse::<u64>().ok());
        let is_other = variable("WATCHDOG_PID").is_some_and(|pid| pid != std::process::id().to_string());
        let every =
            micros.filter(|micros| *micros > 0 && !is_other).map(|micros| Span::from_micros(micros / 2));
        Self { socket, every, told: None }
    }

    /// Nothing is missed any more.
    pub(crate) fn ready(&self) {
        self.tell("READY=1\nSTATUS=Recording");
    }

    /// It still looks; told only as often as is wanted.
    pub(crate) fn alive(&mut self, now: MonotonicTime) {
        let Some(every) = self.every else { return };
        if self.told.is_none_or(|told| now.since(told) >= every) {
            self.tell("WATCHDOG=1");
            self.told = Some(now);
        }
    }

    /// It ends.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    fn tell(&self, message: &str) {
        if let Some((socket, address)) = &self.socket {
            // A manager that is gone has nothing to be told.
            drop(socket.send_to_addr(message.as_bytes(), address));
        }
    }
}

/// A path, or a name in the abstract namespace, which begins with an `@`.
fn address(name: &str) -> Option<SocketAddr> {
    match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None if name.starts_with('/') => SocketAddr::from_pathname(name).ok(),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_hears_as_often_as_it_wants() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let heard = UnixDatagram::bind(&path).unwrap();
        heard.set_nonblocking(true).unwrap();
        let message = || {
            let mut text = [0; 64];
            let length = heard.recv(&mut text).ok()?;
            Some(String::from_utf8_lossy(&text[..length]).into_owned())
        };
        let mut manager = ServiceManager::find(|name| match name {
            "NOTIFY_SOCKET" => Some(path.display().to_string()),
            "WATCHDOG_USEC" => Some("4000000".to_owned()),
            _ => None,
        });
        let at = |seconds: i64| MonotonicTime::from_nanos(seconds * 1_000_000_000);
        manager.ready();
        assert_eq!(message().as_deref(), Some("READY=1\nSTATUS=Recording"));
        manager.alive(at(10));
        manager.alive(at(11));
        assert_eq!((message().as_deref(), message()), (Some("WATCHDOG=1"), None));
        manager.alive(at(12));
        manager.stopping();
        assert_eq!((message().as_deref(), message().as_deref()), (Some("WATCHDOG=1"), Some("STOPPING=1")));
    }

    #[test]
    fn without_a_manager_nothing_is_told() {
        let mut nobody = ServiceManager::find(|_| None);
        nobody.ready();
        nobody.alive(MonotonicTime::default());
        assert!(nobody.socket.is_none() && nobody.told.is_none());
        let of_another = ServiceManager::find(|name| match name {
            "WATCHDOG_PID" => Some("1".to_owned()),
            "WATCHDOG_USEC" => Some("4000000".to_owned()),
            _ => Some("relative".to_owned()),
        });
        assert!(of_another.socket.is_none() && of_another.every.is_none());
    }
}
