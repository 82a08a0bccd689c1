//! Machines that are reached by name.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A machine, with what is to be known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// As one would type it after `ssh`: a name, an alias of the configuration, `user@name`.
    pub address: String,
    /// Labels, such as the rack it stands in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// What cannot be a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no host; write a name, with labels after it if you like, such as `n1 rack=7`")]
pub struct HostError {
    /// What was typed.
    pub found: String,
}

/// Letters of names. What begins with a dash would be an option, and what has a slash would be a path.
fn is_name(text: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-@:[]%".contains(letter);
    let begins = text.chars().next().is_some_and(|first| first.is_ascii_alphanumeric() || first == '[');
    begins && text.len() <= 255 && text.chars().all(fits)
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let wrong = || HostError { found: text.to_owned() };
        let mut arguments = text.split_whitespace();
        let address = arguments.next().filter(|word| is_name(word)).ok_or_else(wrong)?.to_owned();
        let label = |word: &str| {
            let (key, value) =
                word.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty())?;
            Some((key.to_owned(), value.to_owned()))
        };
        let labels = arguments.map(|word| label(word).ok_or_else(wrong)).collect::<Result<_, _>>()?;
        Ok(Self { address, labels })
    }
}

impl Host {
    /// The hosts of a list with commas.
    ///
    /// # Errors
    ///
    /// When one cannot be a host.
    pub fn list(text: &str) -> Result<Vec<Self>, HostError> {
        text.split(',').map(str::parse).collect()
    }

    /// The hosts of a file: one a line, labels after it, `#` before a remark.
    ///
    /// # Errors
    ///
    /// When one cannot be a host.
    pub fn lines(text: &str) -> Result<Vec<Self>, HostError> {
        let line = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
        text.lines().map(line).filter(|line| !line.is_empty()).map(|line| line.parse()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_labels_and_remarks() {
        let hosts = Host::lines("# lab\nn1 rack=7 row=b\n\nroot@n2 # spare\n[::1]\n").unwrap();
        let addresses: Vec<&str> = hosts.iter().map(|host| host.address.as_str()).collect();
        assert_eq!(addresses, ["n1", "root@n2", "[::1]"]);
        assert_eq!(hosts[0].labels.get("rack").map(String::as_str), Some("7"));
        assert_eq!(Host::list("a,b").unwrap().len(), 2);
    }

    #[test]
    fn what_would_be_an_option_or_a_path_is_no_host() {
        for wrong in ["-oProxyCommand=x", "../n1", "a b", "", "n1 rack", "n;1", "$(x)"] {
            assert!(wrong.parse::<Host>().is_err(), "{wrong}");
        }
    }
}
