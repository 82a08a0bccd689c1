//! Listening socket and connection limits.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use howlate_linux::clock;
use howlate_model::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::authorization::Admission;
use crate::connection::{answer, refuse};
use crate::error::ServeError;
use crate::response::{ContentSource, Refusal};

/// Maximum connections; more are refused.
const MAX_CONNECTIONS: usize = 32;
/// Maximum connections of one address, so that no client keeps others out. A proxy counts as one client.
const MAX_PER_CLIENT: usize = 16;
/// Poll interval for Ctrl-C, if another thread gets the signal.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Grace period for responses at the end; content that is still being made is dropped.
const GRACE_PERIOD: Span = Span::from_millis(500);
/// Poll interval of the grace period.
const GRACE_POLL: Span = Span::from_millis(10);
/// Pause if `accept` fails, for example without file descriptors.
const ACCEPT_PAUSE: Span = Span::from_millis(100);

pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    admission: Arc<Admission>,
}

/// Client addresses of open connections.
#[derive(Clone, Default)]
struct OpenConnections(Arc<Mutex<Vec<IpAddr>>>);

impl OpenConnections {
    fn all(&self) -> MutexGuard<'_, Vec<IpAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a connection, unless a limit is reached.
    fn reserve(&self, client: IpAddr) -> Option<ConnectionSlot> {
        let mut all = self.all();
        let of_client = all.iter().filter(|other| **other == client).count();
        if all.len() >= MAX_CONNECTIONS || of_client >= MAX_PER_CLIENT {
            return None;
        }
        all.push(client);
        Some(ConnectionSlot { client, connections: self.clone() })
    }
}

/// A reserved connection, released on drop.
struct ConnectionSlot {
    client: IpAddr,
    connections: OpenConnections,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut all = self.connections.all();
        if let Some(place) = all.iter().position(|other| *other == self.client) {
            all.swap_remove(place);
        }
    }
}

impl Server {
    ///
    /// # Errors
    ///
    /// When the address is not local, in use, or not permitted.
    pub fn listen(address: SocketAddr, admission: Admission) -> Result<Self, ServeError> {
        let refused = |source| ServeError::Port { address, source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address, admission: Arc::new(admission) })
    }

    /// The address with the actual port, if the requested one was 0.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `contents` until `end` is set, even if threads are still making content.
    pub fn serve_until(&self, end: &Arc<AtomicBool>, contents: &Arc<ContentSource>) {
        let connections = OpenConnections::default();
        while !end.load(Ordering::Relaxed) {
            let mut polled = [PollFd::new(&self.listener, PollFlags::IN)];
            // Interrupted by Ctrl-C; `accept` then finds nothing.
            let _ = poll(&mut polled, Some(&POLL_INTERVAL));
            match self.listener.accept() {
                Ok((stream, client)) => match connections.reserve(client.ip().to_canonical()) {
                    Some(slot) => self.take(stream, slot, end, contents),
                    None => refuse(stream, Refusal::TooMany),
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => drop(clock::sleep_for(ACCEPT_PAUSE)),
            }
        }
        let until = clock::now().plus(GRACE_PERIOD);
        while !connections.all().is_empty() && clock::now() < until {
            drop(clock::sleep_for(GRACE_POLL));
        }
    }

    fn take(
        &self,
        stream: TcpStream,
        slot: ConnectionSlot,
        end: &Arc<AtomicBool>,
        contents: &Arc<ContentSource>,
    ) {
        let (admission, end, contents) = (Arc::clone(&self.admission), Arc::clone(end), Arc::clone(contents));
        let work = move || {
            answer(stream, &admission, contents.as_ref(), &end);
            drop(slot);
        };
        // If no thread can be started, the connection is closed.
        drop(Builder::new().name("answer".to_owned()).spawn(work));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::allowed_hosts::HostNames;
    use crate::response::{ContentRequest, ServedContent};
    use crate::token::Token;

    /// Stops the server even if a test fails.
    struct Ends<'a>(&'a AtomicBool);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Responses of a server to `requests`.
    fn answers(admission: Admission, requests: &[&str]) -> Vec<String> {
        let server = Server::listen("127.0.0.1:0".parse().unwrap(), admission).unwrap();
        let address = server.address();
        let end = Arc::new(AtomicBool::new(false));
        let contents: Arc<ContentSource> = Arc::new(|wanted: &ContentRequest<'_>| match wanted.path {
            "/" => ServedContent::Page("<p>".into()),
            "/metrics" => ServedContent::Metrics("up 1\n".into()),
            "/later" => ServedContent::Unavailable("cannot read it".to_owned()),
            _ => ServedContent::NotFound,
        });
        let ask = |request: &&str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve_until(&end, &contents));
            let _ends = Ends(&end);
            requests.iter().map(ask).collect()
        })
    }

    fn open_admission() -> Admission {
        Admission::WithoutToken(HostNames::new([]))
    }

    #[track_caller]
    fn check(admission: Admission, request: &str, first: &str, last: &str) {
        let all = answers(admission, &[request]);
        assert!(all[0].starts_with(&format!("HTTP/1.1 {first}")), "{}", all[0]);
        assert!(all[0].ends_with(last), "{}", all[0]);
    }

    #[test]
    fn paths_are_answered_and_everything_else_is_refused() {
        let to = |method: &str, path: &str| format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        check(open_admission(), &to("GET", "/"), "200 OK", "\r\n\r\n<p>");
        check(open_admission(), &to("GET", "/metrics?name=x"), "200 OK", "\r\n\r\nup 1\n");
        check(open_admission(), &to("HEAD", "/metrics"), "200 OK", "\r\n\r\n");
        check(open_admission(), &to("GET", "/later"), "503 ", "cannot read it\n");
        for path in ["/../../etc/passwd", "//", "/metrics/", "/%2e%2e/", "/Cargo.toml"] {
            check(open_admission(), &to("GET", path), "404 ", "metrics at /metrics, and /health.\n");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"] {
            check(open_admission(), &to(method, "/"), "405 ", "are answered.\n");
        }
        check(open_admission(), "\x16\x03\x01\r\n\r\n", "400 ", "no HTTP request.\n");
        check(open_admission(), &format!("GET /{}", "x".repeat(20_000)), "431 ", "too long.\n");
    }

    #[test]
    fn a_name_that_is_not_ours_is_not_answered() {
        check(open_admission(), "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421 ", "--listen`.\n");
    }

    #[test]
    fn with_a_token_only_who_knows_it_is_told_anything() {
        let token = || Admission::WithToken(Token::new("0123456789abcdef").unwrap());
        let with = |offered: &str| format!("GET /nowhere HTTP/1.1\r\nHost: any.example\r\n{offered}\r\n");
        check(token(), &with("Authorization: Bearer 0123456789abcdef\r\n"), "404 ", "/health.\n");
        for wrong in
            ["", "Authorization: Bearer 0123456789abcdeX\r\n", "Authorization: Basic 0123456789abcdef\r\n"]
        {
            check(token(), &with(wrong), "401 ", "URL\n");
        }
    }

    #[test]
    fn every_answer_has_its_length_and_what_keeps_a_browser_from_more() {
        for path in ["/", "/metrics", "/nowhere", "/later"] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let answer = answers(open_admission(), &[&request]).remove(0);
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
            for header in
                ["X-Content-Type-Options: nosniff", "frame-ancestors 'none'", "Cache-Control: no-store"]
            {
                assert!(head.contains(header), "{path} has no {header}");
            }
        }
    }

    #[test]
    fn clients_that_send_nothing_do_not_keep_others_from_an_answer() {
        let server = Server::listen("127.0.0.1:0".parse().unwrap(), open_admission()).unwrap();
        let nothing: Arc<ContentSource> = Arc::new(|_: &ContentRequest<'_>| ServedContent::NotFound);
        let (address, end) = (server.address(), Arc::new(AtomicBool::new(false)));
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve_until(&end, &nothing));
            let _ends = Ends(&end);
            let silent: Vec<TcpStream> =
                (0..=MAX_CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
            // The last is one too many, unless the first have timed out: either way it gets an error.
            let mut response = String::new();
            (&silent[MAX_CONNECTIONS]).read_to_string(&mut response).unwrap();
            assert!(
                response.starts_with("HTTP/1.1 503 ") || response.starts_with("HTTP/1.1 408 "),
                "{response}"
            );
            for mut stream in &silent {
                response.clear();
                stream.read_to_string(&mut response).unwrap();
                assert!(
                    response.is_empty()
                        || response.starts_with("HTTP/1.1 408 ")
                        || response.starts_with("HTTP/1.1 503 "),
                    "{response}"
                );
            }
            drop(silent);
            // Connections that have just ended may still be counted.
            while !response.contains("HTTP/1.1 404 ") {
                let mut late = TcpStream::connect(address).unwrap();
                drop(late.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
                // A refused client may not get the response.
                drop(late.read_to_string(&mut response));
            }
        });
    }

    #[test]
    fn no_address_has_more_than_half_of_the_room() {
        let (connections, [first, second, third]) = (
            OpenConnections::default(),
            ["192.0.2.1", "192.0.2.2", "2001:db8::1"].map(|address| address.parse().unwrap()),
        );
        let mut slots: Vec<ConnectionSlot> =
            (0..MAX_PER_CLIENT).map(|_| connections.reserve(first).unwrap()).collect();
        assert!(connections.reserve(first).is_none());
        slots.extend((MAX_PER_CLIENT..MAX_CONNECTIONS).map(|_| connections.reserve(second).unwrap()));
        assert!(connections.reserve(third).is_none(), "there is room for {MAX_CONNECTIONS} only");
        slots.remove(0);
        slots.push(connections.reserve(third).unwrap());
        slots.clear();
        assert!(connections.all().is_empty());
    }

    #[test]
    fn an_answer_that_takes_for_ever_does_not_keep_a_server_from_its_end() {
        let server = Server::listen("127.0.0.1:0".parse().unwrap(), open_admission()).unwrap();
        let (address, end) = (server.address(), Arc::new(AtomicBool::new(false)));
        let (requested, is_requested) = channel();
        let requested = Mutex::new(requested);
        let for_ever: Arc<ContentSource> = Arc::new(move |_: &ContentRequest<'_>| {
            requested.lock().unwrap().send(()).unwrap();
            loop {
                std::thread::park();
            }
        });
        let (ended, has_ended) = channel();
        let ends = Arc::clone(&end);
        std::thread::spawn(move || {
            server.serve_until(&ends, &for_ever);
            ended.send(()).unwrap();
        });
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        is_requested.recv().unwrap();
        end.store(true, Ordering::Relaxed);
        assert!(has_ended.recv_timeout(Duration::from_secs(60)).is_ok());
    }
}
