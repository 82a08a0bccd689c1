//! Which program an interpreter runs: `python3` is dozens of them. Only the name of what is run is taken from a command line, never an
//! argument, which may be a secret.

/// Letters that are kept.
const LONGEST: usize = 40;
/// Letters of a comm, `TASK_COMM_LEN` of the kernel without its end.
const COMM: usize = 15;

/// How a family of interpreters reads its command line.
struct Interpreter {
    /// Beginnings of their names, or whole names where they are short.
    names: &'static [&'static str],
    /// Options whose value is what is run.
    named: &'static [&'static str],
    /// Options whose value is a program's text: then it has no name.
    text: &'static [&'static str],
    /// Other options with a value of their own.
    valued: &'static [&'static str],
}

/// Sources: `python(1)`, `node(1)`, `perlrun(1)`, `ruby(1)`, `php(1)`, `java(1)`, `dash(1)`.
const INTERPRETERS: [Interpreter; 7] = [
    Interpreter { names: &["python", "pypy"], named: &["-m"], text: &["-c"], valued: &["-W", "-X"] },
    Interpreter {
        names: &["node"],
        named: &[],
        text: &["-e", "-p", "-pe", "--eval", "--print"],
        valued: &["-r", "--require", "--import", "--loader", "-C"],
    },
    Interpreter { names: &["perl", "ruby", "lua"], named: &[], text: &["-e", "-E"], valued: &["-I"] },
    Interpreter { names: &["php"], named: &["-f"], text: &["-r"], valued: &["-c", "-d"] },
    Interpreter {
        names: &["java"],
        named: &["-jar", "-m", "--module"],
        text: &[],
        valued: &["-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules", "--add-opens"],
    },
    Interpreter {
        names: &["sh", "bash", "dash", "zsh", "ksh"],
        named: &[],
        text: &["-c", "-lc", "-ec"],
        valued: &["-o"],
    },
    Interpreter { names: &["howlate"], named: &[], text: &[], valued: &[] },
];

/// What a process of this name runs, by its command line as `/proc/PID/cmdline` has it: each word ended by a zero.
pub(crate) fn command_word(comm: &str, command_line: &str) -> Option<String> {
    let mut words = command_line.split('\0');
    let program = last_part(words.next()?.trim_start_matches('-'));
    let is_called_so = program.chars().take(COMM).eq(comm.chars());
    let interpreter = INTERPRETERS.iter().find(|one| one.is(program)).filter(|_| is_called_so)?;
    let word = interpreter.script(words)?;
    let shown = |letter: char| if letter.is_control() { ' ' } else { letter };
    Some(last_part(word).chars().take(LONGEST).map(shown).collect::<String>()).filter(|word| !word.is_empty())
}

impl Interpreter {
    /// `python3.11` is one of Python; `shred` is none of the shell.
    fn is(&self, program: &str) -> bool {
        let is_version = |rest: &str| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        self.names.iter().any(|name| program.strip_prefix(name).is_some_and(is_version))
    }

    fn script<'a>(&self, mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        while let Some(word) = words.next() {
            if self.named.contains(&word) {
                return words.next();
            }
            if self.text.contains(&word) {
                return None;
            }
            if self.valued.contains(&word) {
                words.next()?;
            } else if !word.starts_with('-') {
                return Some(word);
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
            // Their names say what they are.
            ("redis-server", "redis-server\0*:6379\0", None),
            ("svc.py", "/usr/bin/python3\0./svc.py\0", None),
            ("shred", "shred\0file\0", None),
            ("postgres", "postgres: checkpointer \0", None),
            ("python3", "", None),
        ] {
            assert_eq!(command_word(comm, line).as_deref(), expected, "{line:?}");
        }
    }

    #[test]
    fn it_is_short_and_one_line() {
        let long = command_word("python3", &format!("python3\0{}\n.py\0", "x\u{7}".repeat(100))).unwrap();
        assert!(long.chars().count() == LONGEST && !long.contains(char::is_control), "{long}");
    }
}
