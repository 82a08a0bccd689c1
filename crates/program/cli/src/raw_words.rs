//! Options together with the words in which they were typed.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Options, and the words of the command line that gave them, for a program that is to get the same.
pub struct Typed<T> {
    /// The options, understood.
    pub options: T,
    /// The same, as they were typed.
    pub words: Vec<String>,
}

impl<T: Args> FromArgMatches for Typed<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self { options: T::from_arg_matches(matches)?, words: words::<T>(matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.options.update_from_arg_matches(matches)?;
        self.words.extend(words::<T>(matches));
        Ok(())
    }
}

impl<T: Args> Args for Typed<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// The long names of the options of `T`.
pub fn names<T: Args>() -> Vec<String> {
    let command = T::augment_args(Command::new(""));
    command.get_arguments().filter_map(|argument| argument.get_long()).map(str::to_owned).collect()
}

fn words<T: Args>(matches: &ArgMatches) -> Vec<String> {
    let command = T::augment_args(Command::new(""));
    let mut words = Vec::new();
    for argument in command.get_arguments() {
        let (id, Some(name)) = (argument.get_id().as_str(), argument.get_long()) else { continue };
        if matches.value_source(id) == Some(ValueSource::CommandLine) {
            let values = matches.get_raw(id).into_iter().flatten();
            words.extend(values.map(|value| format!("--{name}={}", value.to_string_lossy())));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::WholeRun;
    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        run: Typed<WholeRun>,
        #[arg(long)]
        other: bool,
    }

    #[test]
    fn what_was_typed_can_be_typed_again() {
        let typed = ["--seed=7", "--dma-latency=5us", "--fail-above=max>1ms", "--fail-above=p99>50us"];
        let words = ["program", "--other"].into_iter().chain(typed);
        let program = Program::try_parse_from(words).unwrap();
        assert!(program.other);
        assert_eq!(program.run.words, typed);
        assert_eq!((program.run.options.seed, program.run.options.dma_latency), (Some(7), Some(5)));
        let again = std::iter::once("program").chain(program.run.words.iter().map(String::as_str));
        assert_eq!(Program::try_parse_from(again).unwrap().run.words, typed);
    }

    #[test]
    fn options_have_long_names() {
        assert_eq!(names::<WholeRun>(), ["seed", "stop-above", "dma-latency", "fail-above"]);
    }
}
