//! QEMU's control connection, as far as it is needed: the threads of the CPUs, and the start.
//!
//! Source: `docs/interop/qmp-spec.rst` of QEMU.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

/// Nobody waits longer than this for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// An open control connection.
pub(crate) struct Qmp {
    lines: BufReader<UnixStream>,
}

impl Qmp {
    /// Takes the greeting and leaves the mode in which nothing else is answered.
    pub(crate) fn begin(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut qmp = Self { lines: BufReader::new(stream) };
        qmp.line()?;
        qmp.ask("qmp_capabilities")?;
        Ok(qmp)
    }

    /// The thread ids of the guest's CPUs, in order.
    pub(crate) fn vcpu_threads(&mut self) -> io::Result<Vec<u32>> {
        let cpus = self.ask("query-cpus-fast")?;
        let thread = |cpu: &Value| cpu["thread-id"].as_u64().and_then(|tid| u32::try_from(tid).ok());
        let mut threads: Vec<(u64, u32)> = cpus
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|cpu| Some((cpu["cpu-index"].as_u64()?, thread(cpu)?)))
            .collect();
        threads.sort_unstable();
        let mut threads: Vec<u32> = threads.into_iter().map(|(_, tid)| tid).collect();
        threads.dedup();
        Ok(threads)
    }

    /// Lets the guest run.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        self.ask("cont").map(drop)
    }

    fn ask(&mut self, command: &str) -> io::Result<Value> {
        writeln!(self.lines.get_mut(), "{}", json!({ "execute": command }))?;
        loop {
            let mut answer = self.line()?;
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
            if let Some(error) = answer.get("error") {
                return Err(io::Error::other(error["desc"].as_str().unwrap_or(command).to_owned()));
            }
            // Everything else is an event, which comes at any time.
        }
    }

    fn line(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.lines.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers each command with the lines given for it; returns the commands.
    fn scripted(
        mut server: UnixStream,
        answers: &'static [&'static str],
    ) -> std::thread::JoinHandle<Vec<String>> {
        std::thread::spawn(move || {
            let mut received = Vec::new();
            let mut commands = BufReader::new(server.try_clone().unwrap()).lines();
            writeln!(server, r#"{{"QMP":{{}}}}"#).unwrap();
            for answer in answers {
                let command: Value = serde_json::from_str(&commands.next().unwrap().unwrap()).unwrap();
                received.push(command["execute"].as_str().unwrap().to_owned());
                writeln!(server, "{answer}").unwrap();
            }
            received
        })
    }

    #[test]
    fn events_between_answers_are_passed_over_and_cpus_are_sorted() {
        let (client, server) = UnixStream::pair().unwrap();
        let commands = scripted(
            server,
            &[
                r#"{"return":{}}"#,
                "{\"event\":\"RESUME\"}\n{\"return\":[{\"cpu-index\":1,\"thread-id\":12},{\"cpu-index\":0,\"thread-id\":11}]}",
                r#"{"error":{"desc":"not now"}}"#,
            ],
        );
        let mut qmp = Qmp::begin(client).unwrap();
        assert_eq!(qmp.vcpu_threads().unwrap(), [11, 12]);
        assert_eq!(qmp.start().unwrap_err().to_string(), "not now");
        assert_eq!(commands.join().unwrap(), ["qmp_capabilities", "query-cpus-fast", "cont"]);
    }
}
