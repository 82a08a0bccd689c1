//! Preparation of probe programs before the first turn.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_model::{Runtime, Span};

use crate::cache::Cache;
use crate::error::{MissingRuntime, ProbeError};
use crate::recipe::{Compiler, Recipe, StartMethod};
use crate::toolchain::{find, find_itself, first_line, missing};

/// Prepared probe programs, and the errors of those that are not available.
#[derive(Default)]
pub struct Probes {
    probes: Vec<(Runtime, ProbeState)>,
    /// Holds the program files.
    cache: Option<Cache>,
}

enum ProbeState {
    Ready(ProbeProgram),
    /// The runtime or the program is not installed.
    Missing(MissingRuntime),
    /// The preparation failed.
    Failed(ProbeError),
}

/// A command line; the arguments of the protocol come before `last`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProbeProgram {
    command_line: Vec<PathBuf>,
    last: Option<&'static str>,
}

impl Probes {
    /// Prepares new ones of `runtimes` until `interrupted` is set; `say` is called before long steps.
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
            if self.probes.iter().any(|(probes, _)| *probes == runtime) {
                continue;
            }
            let state = match missing(runtime) {
                Some(reason) => ProbeState::Missing(reason),
                None => self.make(runtime, &mut say),
            };
            self.probes.push((runtime, state));
        }
    }

    /// Missing runtimes, each with reason and remedy.
    pub fn missing(&self) -> Vec<(Runtime, MissingRuntime)> {
        let reason = |(runtime, state): &(Runtime, ProbeState)| match state {
            ProbeState::Missing(reason) => Some((*runtime, reason.clone())),
            ProbeState::Ready(_) | ProbeState::Failed(_) => None,
        };
        self.probes.iter().filter_map(reason).collect()
    }

    /// The command for `count` sleeps of `length` in `runtime`.
    ///
    /// # Errors
    ///
    /// When the program is not available.
    pub(crate) fn command(&self, runtime: Runtime, length: Span, count: u64) -> Result<Command, ProbeError> {
        let state = self.probes.iter().find(|(probes, _)| *probes == runtime).map(|(_, state)| state);
        let program = match state {
            Some(ProbeState::Ready(program)) => program,
            Some(ProbeState::Missing(reason)) => return Err(reason.clone().into()),
            Some(ProbeState::Failed(reason)) => return Err(reason.clone()),
            None => return Err(ProbeError::NotPrepared),
        };
        let mut command = Command::new(&program.command_line[0]);
        command.args(&program.command_line[1..]).arg(length.as_nanos().to_string()).arg(count.to_string());
        command.args(program.last);
        Ok(command)
    }

    fn make(&mut self, runtime: Runtime, say: &mut impl FnMut(&str)) -> ProbeState {
        let Some(recipe) = Recipe::for_runtime(runtime) else {
            return ProbeState::Ready(ProbeProgram { command_line: vec![runtime.name().into()], last: None });
        };
        let cache = match self.cache.take().map_or_else(Cache::open, Ok) {
            Ok(cache) => {
                if let Some(refused) = &cache.refused {
                    say(&format!("programs are not kept for the next time: {refused}"));
                }
                self.cache.insert(cache)
            }
            Err(error) => return ProbeState::Failed(ProbeError::NoPlace { reason: error.to_string() }),
        };
        let folder = match &recipe.compiler {
            None => cache.get(&recipe.sources, |folder| write_down(&recipe, folder)),
            Some(compiler) => compiled(cache, runtime, &recipe, compiler, say),
        };
        match folder {
            Ok(folder) => program(&recipe, &folder)
                .map_or(ProbeState::Failed(ProbeError::InterpreterGone), ProbeState::Ready),
            Err(reason) if reason.is_offline(runtime) => {
                ProbeState::Missing(MissingRuntime::Offline(Box::new(reason)))
            }
            Err(reason) => ProbeState::Failed(reason),
        }
    }
}

/// `None` if the interpreter has disappeared.
fn program(recipe: &Recipe, folder: &Path) -> Option<ProbeProgram> {
    let command_line = match recipe.start {
        StartMethod::Program(name) => vec![folder.join(name)],
        StartMethod::Script(interpreter, name) => vec![find_itself(interpreter)?, folder.join(name)],
        StartMethod::Class(tool, name) => vec![find(tool)?, "-cp".into(), folder.into(), name.into()],
    };
    Some(ProbeProgram { command_line, last: recipe.last })
}

fn write_down(recipe: &Recipe, folder: &Path) -> Result<(), ProbeError> {
    for (name, content) in recipe.sources {
        let problem =
            |error: std::io::Error| ProbeError::NotWritten { path: name.into(), reason: error.to_string() };
        fs::write(folder.join(name), content).map_err(problem)?;
    }
    Ok(())
}

/// The folder with the compiled program, one for each version of the compiler.
fn compiled(
    cache: &Cache,
    runtime: Runtime,
    recipe: &Recipe,
    compiler: &Compiler,
    say: &mut impl FnMut(&str),
) -> Result<PathBuf, ProbeError> {
    let compiler_path = find(compiler.tool).ok_or(ProbeError::ToolGone { tool: compiler.tool.names[0] })?;
    let version = first_line(&compiler_path, &[compiler.version]);
    let ingredients = (recipe.sources, compiler.arguments, &version);
    cache.get(&ingredients, |folder| {
        say(&format!("compiling the program for {runtime}, once ({version})"));
        write_down(recipe, folder)?;
        compile(&compiler_path, compiler, &version, folder)
    })
}

fn compile(
    compiler_path: &Path,
    compiler: &Compiler,
    version: &str,
    folder: &Path,
) -> Result<(), ProbeError> {
    let mut command = Command::new(compiler_path);
    command
        .args(compiler.arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("HOWLATE_COMPILER", version);
    let tool = compiler.tool.names[0];
    let problem = |error: std::io::Error| ProbeError::NotStarted {
        program: tool.to_owned(),
        reason: error.to_string(),
    };
    let output = command.output().map_err(problem)?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(ProbeError::NotCompiled { tool, status: output.status, output: first_lines(&stderr) })
}

/// The first lines of a compiler message, with its first error, joined into one.
fn first_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    lines.join(" / ").trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::RequiredTool;

    #[test]
    fn a_compiler_that_fails_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let tool = RequiredTool { names: &["sh"], package: "dash" };
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
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(
            (command.get_program(), arguments),
            ("/bin/echo".as_ref(), vec!["1000000".as_ref(), "7".as_ref()])
        );
        assert!(probes.command(Runtime::C, Span::ZERO, 1).unwrap_err().to_string().contains("not prepared"));
    }
}
