//! The port, and the connections that come to it.

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
use crate::response::{Contents, Refusal};

/// Connections at once. Whoever comes then is sent away.
const MOST: usize = 32;
/// Of one address, so that none keeps the others out. A proxy is one for all who come through it.
const MOST_OF_ONE: usize = 16;
/// How soon Ctrl-C is seen, if the signal comes to another thread.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long answers that are being sent have at the end. One that is still being made is nobody's any more.
const LAST_WORDS: Span = Span::from_millis(500);
/// How often it is looked whether they are.
const STEP: Span = Span::from_millis(10);
/// Where no connection can be taken, for want of file descriptors perhaps.
const BREATHER: Span = Span::from_millis(100);

/// A port that is listened to.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    admission: Arc<Admission>,
}

/// Who is being answered.
#[derive(Clone, Default)]
struct Answered(Arc<Mutex<Vec<IpAddr>>>);

impl Answered {
    fn all(&self) -> MutexGuard<'_, Vec<IpAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more, if there is room for it.
    fn one_of(&self, client: IpAddr) -> Option<Answering> {
        let mut all = self.all();
        let of_it = all.iter().filter(|other| **other == client).count();
        if all.len() >= MOST || of_it >= MOST_OF_ONE {
            return None;
        }
        all.push(client);
        Some(Answering { client, among: self.clone() })
    }
}

/// One of the answers under way, until it is dropped.
struct Answering {
    client: IpAddr,
    among: Answered,
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut all = self.among.all();
        if let Some(place) = all.iter().position(|other| *other == self.client) {
            all.swap_remove(place);
        }
    }
}

impl Server {
    /// Listens to `address`.
    ///
    /// # Errors
    ///
    /// When it is not this machine's, somebody else listens to it, or it may not be listened to.
    pub fn listen(address: SocketAddr, admission: Admission) -> Result<Self, ServeError> {
        let refused = |source| ServeError::Port { address, source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address, admission: Arc::new(admission) })
    }

    /// The address, with the port that was given where any would do.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers with `contents` until `end` is set. It then returns, whatever `contents` still makes in threads that nobody
    /// waits for.
    pub fn answer_until(&self, end: &Arc<AtomicBool>, contents: &Arc<Contents>) {
        let answered = Answered::default();
        while !end.load(Ordering::Relaxed) {
            let mut listened = [PollFd::new(&self.listener, PollFlags::IN)];
            // Ctrl-C ends the wait early: there is nobody to take then, and nothing to say.
            let _ = poll(&mut listened, Some(&LOOK_EVERY));
            match self.listener.accept() {
                Ok((stream, client)) => match answered.one_of(client.ip().to_canonical()) {
                    Some(one) => self.take(stream, one, end, contents),
                    None => refuse(stream, Refusal::TooMany),
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => drop(clock::sleep_for(BREATHER)),
            }
        }
        let until = clock::now().plus(LAST_WORDS);
        while !answered.all().is_empty() && clock::now() < until {
            drop(clock::sleep_for(STEP));
        }
    }

    fn take(&self, stream: TcpStream, one: Answering, end: &Arc<AtomicBool>, contents: &Arc<Contents>) {
        let (admission, end, contents) = (Arc::clone(&self.admission), Arc::clone(end), Arc::clone(contents));
        let work = move || {
            answer(stream, &admission, contents.as_ref(), &end);
            drop(one);
        };
        // Where there can be no thread, the connection is closed with what it would have had.
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
    use crate::allowed_hosts::Names;
    use crate::response::{Answer, Wanted};
    use crate::token::Token;

    /// Ends a server, also where a test fails.
    struct Ends<'a>(&'a AtomicBool);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// What a server that is asked with each of `requests` in turn answers.
    fn answers(admission: Admission, requests: &[&str]) -> Vec<String> {
        let server = Server::listen("127.0.0.1:0".parse().unwrap(), admission).unwrap();
        let address = server.address();
        let end = Arc::new(AtomicBool::new(false));
        let contents: Arc<Contents> = Arc::new(|wanted: &Wanted<'_>| match wanted.path {
            "/" => Answer::Page("<p>".into()),
            "/metrics" => Answer::Metrics("up 1\n".into()),
            "/later" => Answer::NotNow("cannot read it".to_owned()),
            _ => Answer::Nothing,
        });
        let ask = |request: &&str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        std::thread::scope(|scope| {
            scope.spawn(|| server.answer_until(&end, &contents));
            let _ends = Ends(&end);
            requests.iter().map(ask).collect()
        })
    }

    fn everybody() -> Admission {
        Admission::Everybody(Names::new([]))
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
        check(everybody(), &to("GET", "/"), "200 OK", "\r\n\r\n<p>");
        check(everybody(), &to("GET", "/metrics?name=x"), "200 OK", "\r\n\r\nup 1\n");
        check(everybody(), &to("HEAD", "/metrics"), "200 OK", "\r\n\r\n");
        check(everybody(), &to("GET", "/later"), "503 ", "cannot read it\n");
        for path in ["/../../etc/passwd", "//", "/metrics/", "/%2e%2e/", "/Cargo.toml"] {
            check(everybody(), &to("GET", path), "404 ", "metrics at /metrics, and /health.\n");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"] {
            check(everybody(), &to(method, "/"), "405 ", "are answered.\n");
        }
        check(everybody(), "\x16\x03\x01\r\n\r\n", "400 ", "no HTTP request.\n");
        check(everybody(), &format!("GET /{}", "x".repeat(20_000)), "431 ", "too long.\n");
    }

    #[test]
    fn a_name_that_is_not_ours_is_not_answered() {
        check(everybody(), "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421 ", "--listen`.\n");
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
            let answer = answers(everybody(), &[&request]).remove(0);
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
        let server = Server::listen("127.0.0.1:0".parse().unwrap(), everybody()).unwrap();
        let nothing: Arc<Contents> = Arc::new(|_: &Wanted<'_>| Answer::Nothing);
        let (address, end) = (server.address(), Arc::new(AtomicBool::new(false)));
        std::thread::scope(|scope| {
            scope.spawn(|| server.answer_until(&end, &nothing));
            let _ends = Ends(&end);
            let silent: Vec<TcpStream> = (0..=MOST).map(|_| TcpStream::connect(address).unwrap()).collect();
            // The last is one too many, unless the first are gone already: either way it is told.
            let mut told = String::new();
            (&silent[MOST]).read_to_string(&mut told).unwrap();
            assert!(told.starts_with("HTTP/1.1 503 ") || told.starts_with("HTTP/1.1 408 "), "{told}");
            for mut one in &silent {
                told.clear();
                one.read_to_string(&mut told).unwrap();
                assert!(
                    told.is_empty() || told.starts_with("HTTP/1.1 408 ") || told.starts_with("HTTP/1.1 503 "),
                    "{told}"
                );
            }
            drop(silent);
            // Those that have just left may still be counted.
            while !told.contains("HTTP/1.1 404 ") {
                let mut late = TcpStream::connect(address).unwrap();
                drop(late.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
                // One that is sent away before it was read is not always told.
                drop(late.read_to_string(&mut told));
            }
        });
    }

    #[test]
    fn no_address_has_more_than_half_of_the_room() {
        let (answered, [first, second, third]) =
            (Answered::default(), ["192.0.2.1", "192.0.2.2", "2001:db8::1"].map(|one| one.parse().unwrap()));
        let mut kept: Vec<Answering> = (0..MOST_OF_ONE).map(|_| answered.one_of(first).unwrap()).collect();
        assert!(answered.one_of(first).is_none());
        kept.extend((MOST_OF_ONE..MOST).map(|_| answered.one_of(second).unwrap()));
        assert!(answered.one_of(third).is_none(), "there is room for {MOST} only");
        kept.remove(0);
        kept.push(answered.one_of(third).unwrap());
        kept.clear();
        assert!(answered.all().is_empty());
    }

    #[test]
    fn an_answer_that_takes_for_ever_does_not_keep_a_server_from_its_end() {
        let server = Server::listen("127.0.0.1:0".parse().unwrap(), everybody()).unwrap();
        let (address, end) = (server.address(), Arc::new(AtomicBool::new(false)));
        let (asked, is_asked) = channel();
        let asked = Mutex::new(asked);
        let for_ever: Arc<Contents> = Arc::new(move |_: &Wanted<'_>| {
            asked.lock().unwrap().send(()).unwrap();
            loop {
                std::thread::park();
            }
        });
        let (ended, has_ended) = channel();
        let ends = Arc::clone(&end);
        std::thread::spawn(move || {
            server.answer_until(&ends, &for_ever);
            ended.send(()).unwrap();
        });
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        is_asked.recv().unwrap();
        end.store(true, Ordering::Relaxed);
        assert!(has_ended.recv_timeout(Duration::from_secs(60)).is_ok());
    }
}
