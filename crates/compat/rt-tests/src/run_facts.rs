//! The beginning of the JSON files of all rt-tests programs: the run and the machine.

/// What JSON says besides the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// The command line, the program's name included.
    pub command_line: String,
    /// Begin of the run, RFC 2822.
    pub started: String,
    /// End of the run, RFC 2822.
    pub ended: String,
    /// The exit status.
    pub return_code: u8,
    /// `sysname` of `uname(2)`.
    pub sysname: String,
    /// `nodename` of `uname(2)`.
    pub nodename: String,
    /// `release` of `uname(2)`.
    pub release: String,
    /// `version` of `uname(2)`.
    pub version: String,
    /// `machine` of `uname(2)`.
    pub machine: String,
    /// Whether `/sys/kernel/realtime` says 1.
    pub realtime: bool,
    /// The NUMA node of each thread's CPU; −1: not bound.
    pub nodes: Vec<i32>,
}

/// What the files of all programs of rt-tests begin with, up to the number of threads.
pub(crate) fn json_head(version: &str, facts: &RunFacts) -> String {
    [
        "{\n  \"file_version\": 1,\n".to_owned(),
        text_line(2, "cmdline:", &facts.command_line),
        text_line(2, "rt_test_version:", version),
        text_line(2, "start_time", &facts.started),
        text_line(2, "end_time", &facts.ended),
        format!("  \"return_code\": {},\n", facts.return_code),
        system(facts),
    ]
    .concat()
}

fn system(facts: &RunFacts) -> String {
    [
        "  \"sysinfo\": {\n".to_owned(),
        text_line(4, "sysname", &facts.sysname),
        text_line(4, "nodename", &facts.nodename),
        text_line(4, "release", &facts.release),
        text_line(4, "version", &facts.version),
        text_line(4, "machine", &facts.machine),
        format!("    \"realtime\": {}\n  }},\n", u8::from(facts.realtime)),
    ]
    .concat()
}

fn text_line(indent: usize, key: &str, value: &str) -> String {
    format!("{:indent$}\"{key}\": \"{}\",\n", "", escaped(value))
}

/// As RFC 8259 wants it: quotes, backslashes and control characters.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, one| {
        match one {
            '"' | '\\' => escaped.extend(['\\', one]),
            one if one < ' ' => escaped.push_str(&format!("\\u{:04x}", u32::from(one))),
            one => escaped.push(one),
        }
        escaped
    })
}
