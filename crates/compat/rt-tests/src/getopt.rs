//! Command lines as glibc's `getopt_long(3)` reads them.
//!
//! Bundles (`-qmu`), attached values (`-p95`, `--loops=5`), unambiguous beginnings of long
//! names (`--dur 1`), options after other words, optional values, `--`. Its own wording of
//! errors is kept, because people search for it.
//!
//! Source: <https://www.gnu.org/software/libc/manual/html_node/Getopt-Long-Options.html>

/// What an option takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    /// Takes no value.
    Nothing,
    /// A value: the rest of the word, or the next word.
    Value,
    /// The rest of the word if there is any. cyclictest looks further than `getopt_long`:
    /// the next word too is the value if this function says that it looks like one.
    MaybeValue(fn(&str) -> bool),
}

/// An option that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionSpec<T> {
    /// `a` of `-a`.
    pub(crate) short: Option<char>,
    /// `affinity` of `--affinity`.
    pub(crate) long: Option<&'static str>,
    /// Whether a beginning of the long name is enough.
    pub(crate) abbreviates: bool,
    /// Whether a value follows.
    pub(crate) takes: Takes,
    /// What it is known by.
    pub(crate) id: T,
}

/// An option that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GivenOption<T> {
    /// What it is known by.
    pub(crate) id: T,
    /// As typed, such as `-n`.
    pub(crate) typed: String,
    /// The value that came with it.
    pub(crate) value: Option<String>,
}

/// Why a word could not be read, in `getopt_long`'s words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    /// No option has this letter.
    #[error("invalid option -- '{0}'")]
    UnknownShort(char),
    /// No option has this name.
    #[error("unrecognized option '{0}'")]
    UnknownLong(String),
    /// A beginning of several names.
    #[error("option '{typed}' is ambiguous; possibilities:{}", quoted(possible))]
    Ambiguous {
        /// As typed.
        typed: String,
        /// The names.
        possible: Vec<&'static str>,
    },
    /// It ends where a value should be.
    #[error("option requires an argument -- '{0}'")]
    ShortNeedsValue(char),
    /// It ends where a value should be.
    #[error("option '--{0}' requires an argument")]
    LongNeedsValue(&'static str),
    /// A value where none can be.
    #[error("option '--{0}' doesn't allow an argument")]
    TakesNothing(&'static str),
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!(" '--{name}'")).collect()
}

/// Reads `words`, the program's name left out. Words that are no options are ignored.
pub(crate) fn getopt<T: Copy + PartialEq>(
    words: &[String],
    known: &[OptionSpec<T>],
) -> Result<Vec<GivenOption<T>>, Unreadable> {
    let mut reading =
        Reading { words: words.iter().map(String::as_str).peekable(), known, given: Vec::new() };
    while let Some(word) = reading.words.next() {
        match word.strip_prefix("--") {
            Some("") => break,
            Some(long) => reading.long(long)?,
            None => match word.strip_prefix('-') {
                Some(bundle) => reading.bundle(bundle)?,
                None => continue,
            },
        }
    }
    Ok(reading.given)
}

struct Reading<'a, T, I: Iterator<Item = &'a str>> {
    words: std::iter::Peekable<I>,
    known: &'a [OptionSpec<T>],
    given: Vec<GivenOption<T>>,
}

impl<'a, T: Copy + PartialEq, I: Iterator<Item = &'a str>> Reading<'a, T, I> {
    fn bundle(&mut self, bundle: &str) -> Result<(), Unreadable> {
        let mut rest = bundle;
        while let Some(short) = rest.chars().next() {
            rest = &rest[short.len_utf8()..];
            let known = self.known.iter().find(|one| one.short == Some(short));
            let known = *known.ok_or(Unreadable::UnknownShort(short))?;
            let attached = Some(rest).filter(|rest| !rest.is_empty());
            let value = match known.takes {
                Takes::Nothing => None,
                _ => self.value(known.takes, attached, Unreadable::ShortNeedsValue(short))?,
            };
            self.given.push(GivenOption { id: known.id, typed: format!("-{short}"), value });
            if !matches!(known.takes, Takes::Nothing) {
                break;
            }
        }
        Ok(())
    }

    fn long(&mut self, typed: &str) -> Result<(), Unreadable> {
        let (name, attached) = match typed.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (typed, None),
        };
        let (known, full) = self.named(name, typed)?;
        let value = match (known.takes, attached) {
            (Takes::Nothing, Some(_)) => return Err(Unreadable::TakesNothing(full)),
            (Takes::Nothing, None) => None,
            (takes, attached) => self.value(takes, attached, Unreadable::LongNeedsValue(full))?,
        };
        self.given.push(GivenOption { id: known.id, typed: format!("--{full}"), value });
        Ok(())
    }

    /// The option of this long name, or of the only one that begins so.
    fn named(&self, name: &str, typed: &str) -> Result<(OptionSpec<T>, &'static str), Unreadable> {
        let named = |one: &OptionSpec<T>| one.long.map(|long| (*one, long));
        let all = || self.known.iter().filter_map(named);
        if let Some(exact) = all().find(|(_, long)| *long == name) {
            return Ok(exact);
        }
        let begun: Vec<_> = all().filter(|(one, long)| one.abbreviates && long.starts_with(name)).collect();
        match begun.as_slice() {
            [] => Err(Unreadable::UnknownLong(format!("--{typed}"))),
            [one] => Ok(*one),
            many => Err(Unreadable::Ambiguous {
                typed: format!("--{typed}"),
                possible: many.iter().map(|(_, long)| *long).collect(),
            }),
        }
    }

    fn value(
        &mut self,
        takes: Takes,
        attached: Option<&str>,
        missing: Unreadable,
    ) -> Result<Option<String>, Unreadable> {
        if let Some(attached) = attached {
            return Ok(Some(attached.to_owned()));
        }
        match takes {
            Takes::Nothing => Ok(None),
            Takes::Value => self.words.next().map(|next| Some(next.to_owned())).ok_or(missing),
            Takes::MaybeValue(fits) => Ok(self.words.next_if(|next| fits(next)).map(str::to_owned)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [OptionSpec<u8>; 7] = [
        known(Some('q'), "quiet", Takes::Nothing, b'q'),
        known(Some('p'), "priority", Takes::Value, b'p'),
        known(None, "priospread", Takes::Nothing, b's'),
        known(None, "policy", Takes::Value, b'y'),
        known(Some('t'), "threads", Takes::MaybeValue(|next| next.starts_with('4')), b't'),
        known(Some('u'), "unbuffered", Takes::Nothing, b'u'),
        OptionSpec {
            short: None,
            long: Some("quite-new"),
            abbreviates: false,
            takes: Takes::Value,
            id: b'n',
        },
    ];

    const fn known(short: Option<char>, long: &'static str, takes: Takes, id: u8) -> OptionSpec<u8> {
        OptionSpec { short, long: Some(long), abbreviates: true, takes, id }
    }

    fn read(line: &[&str]) -> Result<String, String> {
        let words: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
        let shown = |one: &GivenOption<u8>| match &one.value {
            Some(value) => format!("{}={value}", char::from(one.id)),
            None => char::from(one.id).to_string(),
        };
        getopt(&words, &KNOWN)
            .map(|given| given.iter().map(shown).collect::<Vec<_>>().join(" "))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_read_as_glibc_does() {
        for (line, read_as) in [
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
            assert_eq!(read(line).as_deref(), Ok(read_as), "{line:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said_in_the_known_words() {
        for (line, says) in [
            (&["-z"][..], "invalid option -- 'z'"),
            (&["-qn"], "invalid option -- 'n'"),
            (&["--vers"], "unrecognized option '--vers'"),
            (&["--prio=80"], "option '--prio=80' is ambiguous; possibilities: '--priority' '--priospread'"),
            (&["-q", "-p"], "option requires an argument -- 'p'"),
            (&["--policy"], "option '--policy' requires an argument"),
            (&["--quiet=1"], "option '--quiet' doesn't allow an argument"),
            (&["--quite"], "unrecognized option '--quite'"),
        ] {
            assert_eq!(read(line).unwrap_err(), says, "{line:?}");
        }
    }
}
