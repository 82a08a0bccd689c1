//! The programs that a run needs, prepared before anything is measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_model::{Runtime, Span};

use crate::cache::Cache;
use crate::error::{Failed, Missing};
use crate::recipe::{Compiler, Recipe, Start};
use crate::toolchain::{find, find_itself, first_line, missing};

/// Programs ready to be started, and those that are not, with the reason.
#[derive(Default)]
pub struct Probes {
    known: Vec<(Runtime, State)>,
    /// Keeps the programs while they are needed.
    cache: Option<Cache>,
}

enum State {
    Ready(Program),
    /// The machine has no such language, or no such program.
    Missing(Missing),
    /// It should have worked.
    Failed(Failed),
}

/// What is started for each turn; the protocol's arguments come between the two.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    words: Vec<PathBuf>,
    last: Option<&'static str>,
}

impl Probes {
    /// Prepares those of `runtimes` that are not known yet, until `interrupted` is set; `say` hears what
    /// takes long.
    pub fn prepare(
        &mut self,
        runtimes: impl IntoIterator<Item = Runtime>,
        interrupted: &AtomicBool,
        mut say: impl FnMut(&str),
    ) {
        for runtime in runtimes {
            if interrupted.load(Ordering::Relaxed) {
                return;
            }
            if self.known.iter().any(|(known, _)| *known == runtime) {
                continue;
            }
            let state = match missing(runtime) {
                Some(reason) => State::Missing(reason),
                None => self.make(runtime, &mut say),
            };
            self.known.push((runtime, state));
        }
    }

    /// The runtimes that this machine lacks, each with the reason and what would help.
    pub fn missing(&self) -> Vec<(Runtime, Missing)> {
        let reason = |(runtime, state): &(Runtime, State)| match state {
            State::Missing(reason) => Some((*runtime, reason.clone())),
            State::Ready(_) | State::Failed(_) => None,
        };
        self.known.iter().filter_map(reason).collect()
    }

    /// What starts `runtime`'s program for `count` sleeps of `length`.
    ///
    /// # Errors
    ///
    /// Why there is no such program: a compiler's words, for example.
    pub(crate) fn command(&self, runtime: Runtime, length: Span, count: u64) -> Result<Command, Failed> {
        let state = self.known.iter().find(|(known, _)| *known == runtime).map(|(_, state)| state);
        let program = match state {
            Some(State::Ready(program)) => program,
            Some(State::Missing(reason)) => return Err(reason.clone().into()),
            Some(State::Failed(reason)) => return Err(reason.clone()),
            None => return Err(Failed::NotPrepared),
        };
        let mut command = Command::new(&program.words[0]);
        command.args(&program.words[1..]).arg(length.as_nanos().to_string()).arg(count.to_string());
        command.args(program.last);
        Ok(command)
    }

    fn make(&mut self, runtime: Runtime, say: &mut impl FnMut(&str)) -> State {
        let Some(recipe) = Recipe::for_runtime(runtime) else {
            return State::Ready(Program { words: vec![runtime.name().into()], last: None });
        };
        let cache = match self.cache.take().map_or_else(Cache::open, Ok) {
            Ok(cache) => {
                if let Some(refused) = &cache.refused {
                    say(&format!("programs are not kept for the next time: {refused}"));
                }
                self.cache.insert(cache)
            }
            Err(error) => return State::Failed(Failed::NoPlace { words: error.to_string() }),
        };
        let made = match &recipe.compiler {
            None => cache.get(&recipe.sources, |folder| write_down(&recipe, folder)),
            Some(compiler) => compiled(cache, runtime, &recipe, compiler, say),
        };
        match made {
            Ok(folder) => {
                program(&recipe, &folder).map_or(State::Failed(Failed::InterpreterGone), State::Ready)
            }
            Err(reason) if reason.is_offline(runtime) => State::Missing(Missing::Offline(Box::new(reason))),
            Err(reason) => State::Failed(reason),
        }
    }
}

/// `None` when an interpreter that was there is gone.
fn program(recipe: &Recipe, folder: &Path) -> Option<Program> {
    let words = match recipe.start {
        Start::Program(name) => vec![folder.join(name)],
        Start::Script(interpreter, name) => vec![find_itself(interpreter)?, folder.join(name)],
        Start::Class(tool, name) => vec![find(tool)?, "-cp".into(), folder.into(), name.into()],
    };
    Some(Program { words, last: recipe.last })
}

fn write_down(recipe: &Recipe, folder: &Path) -> Result<(), Failed> {
    for (name, content) in recipe.sources {
        let problem =
            |error: std::io::Error| Failed::NotWritten { path: name.into(), words: error.to_string() };
        fs::write(folder.join(name), content).map_err(problem)?;
    }
    Ok(())
}

/// The folder with the compiled program; other versions of the compiler have their own.
fn compiled(
    cache: &Cache,
    runtime: Runtime,
    recipe: &Recipe,
    compiler: &Compiler,
    say: &mut impl FnMut(&str),
) -> Result<PathBuf, Failed> {
    let found = find(compiler.tool).ok_or(Failed::ToolGone { tool: compiler.tool.names[0] })?;
    let version = first_line(&found, &[compiler.version]);
    let ingredients = (recipe.sources, compiler.arguments, &version);
    cache.get(&ingredients, |folder| {
        say(&format!("compiling the program for {runtime}, once ({version})"));
        write_down(recipe, folder)?;
        compile(&found, compiler, &version, folder)
    })
}

fn compile(found: &Path, compiler: &Compiler, version: &str, folder: &Path) -> Result<(), Failed> {
    let mut command = Command::new(found);
    command
        .args(compiler.arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("HOWLATE_COMPILER", version);
    let tool = compiler.tool.names[0];
    let problem =
        |error: std::io::Error| Failed::NotStarted { program: tool.to_owned(), words: error.to_string() };
    let output = command.output().map_err(problem)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failed::NotCompiled { tool, status: output.status, said: first_lines(&said) })
}

/// The beginning of what a compiler says, which is where its first error is, in one line.
fn first_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    lines.join(" / ").trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Tool;

    #[test]
    fn a_compiler_that_fails_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let tool = Tool { names: &["sh"], package: "dash" };
        let arguments: &[&str] = &["-c", "echo c.c:1: error: no >&2; exit 3"];
        let compiler = Compiler { tool, version: "--version", arguments };
        let error = compile(Path::new("/bin/sh"), &compiler, "", folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "sh failed (exit status: 3): c.c:1: error: no");
    }

    #[test]
    fn a_users_program_gets_length_and_count() {
        let own = Runtime::Own(howlate_model::OwnProgram::new("/bin/echo"));
        let mut probes = Probes::default();
        probes.prepare([own], &AtomicBool::new(false), |_| ());
        let command = probes.command(own, Span::from_millis(1), 7).unwrap();
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(
            (command.get_program(), words),
            ("/bin/echo".as_ref(), vec!["1000000".as_ref(), "7".as_ref()])
        );
        assert!(probes.command(Runtime::C, Span::ZERO, 1).unwrap_err().to_string().contains("not prepared"));
    }
}
