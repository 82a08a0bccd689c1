//! Command lines as glibc's `getopt_long(3)` reads them.
//!
//! Grouped short options (`-qmu`), attached values (`-p95`, `--loops=5`), unambiguous prefixes of long
//! names (`--dur 1`), options after operands, optional values, `--`. The error messages are glibc's, because
//! people search for them.
//!
//! Source: <https://www.gnu.org/software/libc/manual/html_node/Getopt-Long-Options.html>

/// Whether an option has an argument: `has_arg` of `struct option`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument {
    None,
    /// The rest of the word, or the next word.
    Required,
    /// The rest of the word, if any. Unlike `getopt_long`, cyclictest also takes the next word if it looks like a
    /// value, which this predicate decides.
    Optional(fn(&str) -> bool),
}

/// An option that the program accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionSpec<T> {
    /// `a` of `-a`.
    pub(crate) short: Option<char>,
    /// `affinity` of `--affinity`.
    pub(crate) long: Option<&'static str>,
    /// Whether an unambiguous prefix of the long name is accepted.
    pub(crate) abbreviates: bool,
    pub(crate) argument: Argument,
    pub(crate) id: T,
}

/// An option found on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GivenOption<T> {
    pub(crate) id: T,
    /// Short or full long name, such as `-n`.
    pub(crate) name: String,
    pub(crate) value: Option<String>,
}

/// A command line error with the message of `getopt_long`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GetoptError {
    #[error("invalid option -- '{0}'")]
    UnknownShort(char),
    #[error("unrecognized option '{0}'")]
    UnknownLong(String),
    #[error("option '{prefix}' is ambiguous; possibilities:{}", quoted(candidates))]
    Ambiguous { prefix: String, candidates: Vec<&'static str> },
    #[error("option requires an argument -- '{0}'")]
    ShortNeedsArgument(char),
    #[error("option '--{0}' requires an argument")]
    LongNeedsArgument(&'static str),
    #[error("option '--{0}' doesn't allow an argument")]
    UnexpectedArgument(&'static str),
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!(" '--{name}'")).collect()
}

/// Parses `arguments`, without the program name. Operands are ignored.
pub(crate) fn getopt<T: Copy + PartialEq>(
    arguments: &[String],
    specs: &[OptionSpec<T>],
) -> Result<Vec<GivenOption<T>>, GetoptError> {
    let mut parser =
        GetoptParser { arguments: arguments.iter().map(String::as_str).peekable(), specs, given: Vec::new() };
    while let Some(argument) = parser.arguments.next() {
        match argument.strip_prefix("--") {
            Some("") => break,
            Some(long) => parser.long_option(long)?,
            None => match argument.strip_prefix('-') {
                Some(group) => parser.short_options(group)?,
                None => continue,
            },
        }
    }
    Ok(parser.given)
}

struct GetoptParser<'a, T, I: Iterator<Item = &'a str>> {
    arguments: std::iter::Peekable<I>,
    specs: &'a [OptionSpec<T>],
    given: Vec<GivenOption<T>>,
}

impl<'a, T: Copy + PartialEq, I: Iterator<Item = &'a str>> GetoptParser<'a, T, I> {
    /// Options of one word, such as `qmu` of `-qmu`; the rest of the word after an option with an argument is its value.
    fn short_options(&mut self, group: &str) -> Result<(), GetoptError> {
        let mut rest = group;
        while let Some(short) = rest.chars().next() {
            rest = &rest[short.len_utf8()..];
            let spec = self.specs.iter().find(|spec| spec.short == Some(short));
            let spec = *spec.ok_or(GetoptError::UnknownShort(short))?;
            let attached = Some(rest).filter(|rest| !rest.is_empty());
            let value = match spec.argument {
                Argument::None => None,
                _ => self.value(spec.argument, attached, GetoptError::ShortNeedsArgument(short))?,
            };
            self.given.push(GivenOption { id: spec.id, name: format!("-{short}"), value });
            if !matches!(spec.argument, Argument::None) {
                break;
            }
        }
        Ok(())
    }

    fn long_option(&mut self, text: &str) -> Result<(), GetoptError> {
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let (spec, full) = self.find_long(name, text)?;
        let value = match (spec.argument, attached) {
            (Argument::None, Some(_)) => return Err(GetoptError::UnexpectedArgument(full)),
            (Argument::None, None) => None,
            (argument, attached) => self.value(argument, attached, GetoptError::LongNeedsArgument(full))?,
        };
        self.given.push(GivenOption { id: spec.id, name: format!("--{full}"), value });
        Ok(())
    }

    /// The option with this long name, or the only one of which it is a prefix. `text`: the word without `--`.
    fn find_long(&self, name: &str, text: &str) -> Result<(OptionSpec<T>, &'static str), GetoptError> {
        let with_long = |spec: &OptionSpec<T>| spec.long.map(|long| (*spec, long));
        let all = || self.specs.iter().filter_map(with_long);
        if let Some(exact) = all().find(|(_, long)| *long == name) {
            return Ok(exact);
        }
        let candidates: Vec<_> =
            all().filter(|(spec, long)| spec.abbreviates && long.starts_with(name)).collect();
        match candidates.as_slice() {
            [] => Err(GetoptError::UnknownLong(format!("--{text}"))),
            [candidate] => Ok(*candidate),
            many => Err(GetoptError::Ambiguous {
                prefix: format!("--{text}"),
                candidates: many.iter().map(|(_, long)| *long).collect(),
            }),
        }
    }

    fn value(
        &mut self,
        argument: Argument,
        attached: Option<&str>,
        missing: GetoptError,
    ) -> Result<Option<String>, GetoptError> {
        if let Some(attached) = attached {
            return Ok(Some(attached.to_owned()));
        }
        match argument {
            Argument::None => Ok(None),
            Argument::Required => self.arguments.next().map(|next| Some(next.to_owned())).ok_or(missing),
            Argument::Optional(fits) => Ok(self.arguments.next_if(|next| fits(next)).map(str::to_owned)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: [OptionSpec<u8>; 7] = [
        spec(Some('q'), "quiet", Argument::None, b'q'),
        spec(Some('p'), "priority", Argument::Required, b'p'),
        spec(None, "priospread", Argument::None, b's'),
        spec(None, "policy", Argument::Required, b'y'),
        spec(Some('t'), "threads", Argument::Optional(|next| next.starts_with('4')), b't'),
        spec(Some('u'), "unbuffered", Argument::None, b'u'),
        OptionSpec {
            short: None,
            long: Some("quite-new"),
            abbreviates: false,
            argument: Argument::Required,
            id: b'n',
        },
    ];

    const fn spec(short: Option<char>, long: &'static str, argument: Argument, id: u8) -> OptionSpec<u8> {
        OptionSpec { short, long: Some(long), abbreviates: true, argument, id }
    }

    fn parse(line: &[&str]) -> Result<String, String> {
        let arguments: Vec<String> = line.iter().map(|&argument| argument.to_owned()).collect();
        let shown = |option: &GivenOption<u8>| match &option.value {
            Some(value) => format!("{}={value}", char::from(option.id)),
            None => char::from(option.id).to_string(),
        };
        getopt(&arguments, &OPTIONS)
            .map(|given| given.iter().map(shown).collect::<Vec<_>>().join(" "))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_parsed_as_by_glibc() {
        for (line, parsed) in [
            (&["-qu"][..], "q u"),
            (&["-up95"], "u p=95"),
            (&["-p", "95"], "p=95"),
            (&["-p", "-q"], "p=-q"),
            (&["-p 95"], "p= 95"),
            (&["--priority=95", "--prior", "5"], "p=95 p=5"),
            (&["--qui", "--q"], "q q"),
            (&["word", "-q", "", "-", "-u"], "q u"),
            (&["-q", "--", "-u"], "q"),
            (&["-t", "-q"], "t q"),
            (&["-t4", "-t", "4", "-t", "5"], "t=4 t=4 t"),
            (&["--threads", "4", "--threads=9", "--thr"], "t=4 t=9 t"),
            (&["--quite-new", "x"], "n=x"),
            (&["--priority="], "p="),
        ] {
            assert_eq!(parse(line).as_deref(), Ok(parsed), "{line:?}");
        }
    }

    #[test]
    fn error_messages_are_those_of_glibc() {
        for (line, message) in [
            (&["-z"][..], "invalid option -- 'z'"),
            (&["-qn"], "invalid option -- 'n'"),
            (&["--vers"], "unrecognized option '--vers'"),
            (&["--prio=80"], "option '--prio=80' is ambiguous; possibilities: '--priority' '--priospread'"),
            (&["-q", "-p"], "option requires an argument -- 'p'"),
            (&["--policy"], "option '--policy' requires an argument"),
            (&["--quiet=1"], "option '--quiet' doesn't allow an argument"),
            (&["--quite"], "unrecognized option '--quite'"),
        ] {
            assert_eq!(parse(line).unwrap_err(), message, "{line:?}");
        }
    }
}
