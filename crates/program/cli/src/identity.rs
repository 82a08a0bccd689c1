//! Which machine a recording says it was made on.

use std::str::FromStr;

use clap::Args;
use howlate_model::Node;

/// What is typed of the machine.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct IdentityArgs {
    /// Name of this machine in the recording [default: the host name]
    #[arg(long, value_name = "NAME", value_parser = word, conflicts_with = "anonymous", hide_short_help = true)]
    pub node: Option<String>,
    /// A label for this machine, such as rack=7; can be repeated
    #[arg(long, value_name = "KEY=VALUE", hide_short_help = true)]
    pub label: Vec<NodeLabel>,
    /// Leave the machine's name out of the recording
    #[arg(long, hide_short_help = true)]
    pub anonymous: bool,
}

impl IdentityArgs {
    /// Applies the options to `node`.
    pub fn apply(&self, mut node: Node) -> Node {
        node.name = self.node.clone().or(node.name).filter(|_| !self.anonymous);
        node.labels.extend(self.label.iter().map(|NodeLabel(key, value)| (key.clone(), value.clone())));
        node
    }
}

/// A label of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLabel(pub(crate) String, pub(crate) String);

impl FromStr for NodeLabel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self(word(key)?, word(value)?)),
            _ => Err(format!("`{text}` is no label; write a name and a value, such as `rack=7`")),
        }
    }
}

/// Parses a short text without control characters.
fn word(text: &str) -> Result<String, String> {
    /// Maximum length of a host name.
    const LONGEST: usize = 255;
    match text.len() {
        1..=LONGEST if !text.chars().any(char::is_control) => Ok(text.to_owned()),
        _ => Err(format!("write 1 to {LONGEST} letters")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_pairs() {
        assert_eq!("rack=7".parse(), Ok(NodeLabel("rack".into(), "7".into())));
        assert_eq!("a=b=c".parse(), Ok(NodeLabel("a".into(), "b=c".into())));
        for wrong in ["rack", "=7", "rack=", "rack=\n"] {
            assert!(wrong.parse::<NodeLabel>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_anonymous_machine_has_no_name() {
        let here = Node { name: Some("n1".into()), ..Node::default() };
        let of = |identity: IdentityArgs| identity.apply(here.clone()).name;
        assert_eq!(of(IdentityArgs::default()).as_deref(), Some("n1"));
        assert_eq!(
            of(IdentityArgs { node: Some("left".into()), ..IdentityArgs::default() }).as_deref(),
            Some("left")
        );
        assert_eq!(of(IdentityArgs { anonymous: true, ..IdentityArgs::default() }), None);
    }
}
