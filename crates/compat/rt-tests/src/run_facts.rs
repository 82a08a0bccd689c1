//! Facts about the run and the machine, with which the JSON files of all rt-tests programs begin.

/// Everything in the JSON files except the measurements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// With the program name.
    pub command_line: String,
    /// Start of the run, RFC 2822.
    pub started: String,
    /// End of the run, RFC 2822.
    pub ended: String,
    pub return_code: u8,
    /// This and the four fields that follow are those of `uname(2)`.
    pub sysname: String,
    pub nodename: String,
    pub release: String,
    pub version: String,
    pub machine: String,
    /// Whether `/sys/kernel/realtime` is 1.
    pub realtime: bool,
    /// NUMA node of each thread's CPU; −1: none is printed.
    pub nodes: Vec<i32>,
}

/// Start of the JSON files of all rt-tests programs, up to the number of threads.
pub(crate) fn json_head(version: &str, facts: &RunFacts) -> String {
    [
        "{\n  \"file_version\": 1,\n".to_owned(),
        text_line(2, "cmdline:", &facts.command_line),
        text_line(2, "rt_test_version:", version),
        text_line(2, "start_time", &facts.started),
        text_line(2, "end_time", &facts.ended),
        format!("  \"return_code\": {},\n", facts.return_code),
        sysinfo(facts),
    ]
    .concat()
}

fn sysinfo(facts: &RunFacts) -> String {
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
    format!("{:indent$}\"{key}\": \"{}\",\n", "", escape(value))
}

/// Escapes quotes, backslashes and control characters, as RFC 8259 requires.
fn escape(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, character| {
        match character {
            '"' | '\\' => escaped.extend(['\\', character]),
            control if control < ' ' => escaped.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => escaped.push(other),
        }
        escaped
    })
}
