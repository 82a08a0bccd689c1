//! Name of the script that an interpreter runs: a machine has dozens of `python3`. Only that name is taken from a
//! command line, never an argument, which may be a secret.

/// Maximum characters of a name.
const LONGEST: usize = 40;
/// Length of a comm: `TASK_COMM_LEN` without the terminating zero.
const COMM: usize = 15;

/// Command line syntax of a family of interpreters.
struct InterpreterSyntax {
    /// Names without their version.
    names: &'static [&'static str],
    /// Options whose value is the script or module.
    named: &'static [&'static str],
    /// Options whose value is the program's text, which has no name.
    text: &'static [&'static str],
    /// Other options with a value.
    valued: &'static [&'static str],
}

/// Sources: `python(1)`, `node(1)`, `perlrun(1)`, `ruby(1)`, `php(1)`, `java(1)`, `dash(1)`.
const INTERPRETERS: [InterpreterSyntax; 7] = [
    InterpreterSyntax { names: &["python", "pypy"], named: &["-m"], text: &["-c"], valued: &["-W", "-X"] },
    InterpreterSyntax {
        names: &["node"],
        named: &[],
        text: &["-e", "-p", "-pe", "--eval", "--print"],
        valued: &["-r", "--require", "--import", "--loader", "-C"],
    },
    InterpreterSyntax { names: &["perl", "ruby", "lua"], named: &[], text: &["-e", "-E"], valued: &["-I"] },
    InterpreterSyntax { names: &["php"], named: &["-f"], text: &["-r"], valued: &["-c", "-d"] },
    InterpreterSyntax {
        names: &["java"],
        named: &["-jar", "-m", "--module"],
        text: &[],
        valued: &["-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules", "--add-opens"],
    },
    InterpreterSyntax {
        names: &["sh", "bash", "dash", "zsh", "ksh"],
        named: &[],
        text: &["-c", "-lc", "-ec"],
        valued: &["-o"],
    },
    InterpreterSyntax { names: &["howlate"], named: &[], text: &[], valued: &[] },
];

/// Script of a process, from its comm and `/proc/PID/cmdline`, whose words end with a zero.
pub(crate) fn script_name(comm: &str, command_line: &str) -> Option<String> {
    let mut arguments = command_line.split('\0');
    let program = last_part(arguments.next()?.trim_start_matches('-'));
    let matches_comm = program.chars().take(COMM).eq(comm.chars());
    let interpreter = INTERPRETERS.iter().find(|syntax| syntax.is(program)).filter(|_| matches_comm)?;
    let argument = interpreter.script(arguments)?;
    let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
    Some(last_part(argument).chars().take(LONGEST).map(printable).collect::<String>())
        .filter(|argument| !argument.is_empty())
}

impl InterpreterSyntax {
    /// Whether it is one of these with or without a version: `python3.11` is `python`, `shred` is not `sh`.
    fn is(&self, program: &str) -> bool {
        let is_version = |rest: &str| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        self.names.iter().any(|name| program.strip_prefix(name).is_some_and(is_version))
    }

    fn script<'a>(&self, mut arguments: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        while let Some(argument) = arguments.next() {
            if self.named.contains(&argument) {
                return arguments.next();
            }
            if self.text.contains(&argument) {
                return None;
            }
            if self.valued.contains(&argument) {
                arguments.next()?;
            } else if !argument.starts_with('-') {
                return Some(argument);
            }
        }
        None
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_known_by_what_it_runs() {
        for (comm, line, expected) in [
            ("python3", "python3\0svc.py\0--token\0secret\0", Some("svc.py")),
            ("python3.11", "/usr/bin/python3.11\0-u\0-X\0dev\0/srv/app/main.py\0", Some("main.py")),
            ("python3", "python3\0-m\0http.server\08000\0", Some("http.server")),
            ("python3", "python3\0-c\0secret\0", None),
            ("node", "node\0-r\0./hook.js\0server.js\0", Some("server.js")),
            ("java", "java\0-Xmx1g\0-cp\0a.jar:b.jar\0org.example.Main\0", Some("org.example.Main")),
            ("java", "java\0-jar\0/opt/app.jar\0", Some("app.jar")),
            ("bash", "-bash\0", None),
            ("sh", "sh\0-c\0secret\0", None),
            ("howlate", "howlate\0record\0", Some("record")),
            // Not interpreters.
            ("redis-server", "redis-server\0*:6379\0", None),
            ("svc.py", "/usr/bin/python3\0./svc.py\0", None),
            ("shred", "shred\0file\0", None),
            ("postgres", "postgres: checkpointer \0", None),
            ("python3", "", None),
        ] {
            assert_eq!(script_name(comm, line).as_deref(), expected, "{line:?}");
        }
    }

    #[test]
    fn it_is_short_and_one_line() {
        let long = script_name("python3", &format!("python3\0{}\n.py\0", "x\u{7}".repeat(100))).unwrap();
        assert!(long.chars().count() == LONGEST && !long.contains(char::is_control), "{long}");
    }
}
