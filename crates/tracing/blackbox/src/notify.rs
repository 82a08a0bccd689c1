//! Notifications to the service manager: ready, alive, stopping.
//!
//! Source: `sd_notify(3)`, `sd_watchdog_enabled(3)`.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use howlate_model::{MonotonicTime, Span};

/// The service manager, if one started this process.
#[derive(Debug)]
pub(crate) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// Interval of `WATCHDOG=1`: half of `WATCHDOG_USEC`.
    every: Option<Span>,
    last_sent: Option<MonotonicTime>,
}

impl ServiceManager {
    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` through `variable`.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<String>) -> Self {
        let address = variable("NOTIFY_SOCKET").and_then(|name| address(&name));
        let socket = address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        let micros = variable("WATCHDOG_USEC").and_then(|text| text.parse::<u64>().ok());
        let is_other = variable("WATCHDOG_PID").is_some_and(|pid| pid != std::process::id().to_string());
        let every =
            micros.filter(|micros| *micros > 0 && !is_other).map(|micros| Span::from_micros(micros / 2));
        Self { socket, every, last_sent: None }
    }

    pub(crate) fn ready(&self) {
        self.send("READY=1\nSTATUS=Recording");
    }

    /// Sends `WATCHDOG=1` as often as needed.
    pub(crate) fn alive(&mut self, now: MonotonicTime) {
        let Some(every) = self.every else { return };
        if self.last_sent.is_none_or(|last_sent| now.since(last_sent) >= every) {
            self.send("WATCHDOG=1");
            self.last_sent = Some(now);
        }
    }

    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, message: &str) {
        if let Some((socket, address)) = &self.socket {
            // A manager that has ended needs no message.
            drop(socket.send_to_addr(message.as_bytes(), address));
        }
    }
}

/// A path, or a name in the abstract namespace, which begins with `@`.
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
        let receiver = UnixDatagram::bind(&path).unwrap();
        receiver.set_nonblocking(true).unwrap();
        let message = || {
            let mut text = [0; 64];
            let length = receiver.recv(&mut text).ok()?;
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
        let mut manager = ServiceManager::find(|_| None);
        manager.ready();
        manager.alive(MonotonicTime::default());
        assert!(manager.socket.is_none() && manager.last_sent.is_none());
        let of_another = ServiceManager::find(|name| match name {
            "WATCHDOG_PID" => Some("1".to_owned()),
            "WATCHDOG_USEC" => Some("4000000".to_owned()),
            _ => Some("relative".to_owned()),
        });
        assert!(of_another.socket.is_none() && of_another.every.is_none());
    }
}
