//! Parsed options together with their command-line arguments.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Parsed options and their command-line arguments, for passing them on to another howlate.
pub struct WithArguments<T> {
    /// The parsed options.
    pub options: T,
    /// The arguments as typed.
    pub arguments: Vec<String>,
}

impl<T: Args> FromArgMatches for WithArguments<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self { options: T::from_arg_matches(matches)?, arguments: arguments::<T>(matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.options.update_from_arg_matches(matches)?;
        self.arguments.extend(arguments::<T>(matches));
        Ok(())
    }
}

impl<T: Args> Args for WithArguments<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// The long names of the options of `T`.
pub fn option_names<T: Args>() -> Vec<String> {
    let command = T::augment_args(Command::new(""));
    command.get_arguments().filter_map(|argument| argument.get_long()).map(str::to_owned).collect()
}

fn arguments<T: Args>(matches: &ArgMatches) -> Vec<String> {
    let command = T::augment_args(Command::new(""));
    let mut arguments = Vec::new();
    for argument in command.get_arguments() {
        let (id, Some(name)) = (argument.get_id().as_str(), argument.get_long()) else { continue };
        if matches.value_source(id) == Some(ValueSource::CommandLine) {
            let values = matches.get_raw(id).into_iter().flatten();
            arguments.extend(values.map(|value| format!("--{name}={}", value.to_string_lossy())));
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::WholeRunArgs;
    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        run: WithArguments<WholeRunArgs>,
        #[arg(long)]
        other: bool,
    }

    #[test]
    fn what_was_typed_can_be_typed_again() {
        let options = ["--seed=7", "--dma-latency=5us", "--fail-above=max>1ms", "--fail-above=p99>50us"];
        let arguments = ["program", "--other"].into_iter().chain(options);
        let program = Program::try_parse_from(arguments).unwrap();
        assert!(program.other);
        assert_eq!(program.run.arguments, options);
        assert_eq!((program.run.options.seed, program.run.options.dma_latency), (Some(7), Some(5)));
        let again = std::iter::once("program").chain(program.run.arguments.iter().map(String::as_str));
        assert_eq!(Program::try_parse_from(again).unwrap().run.arguments, options);
    }

    #[test]
    fn options_have_long_names() {
        assert_eq!(option_names::<WholeRunArgs>(), ["seed", "stop-above", "dma-latency", "fail-above"]);
    }
}
