//! What to type to be told more of the same recording.

use howlate_analyse::Analysis;
use howlate_model::shell_path;

use crate::untrusted_text::legible;

/// `` `howlate show --details` ``, with the recording where it was named.
pub(crate) fn show_again(analysis: &Analysis, options: &str) -> String {
    match &analysis.path {
        Some(path) => format!("`howlate show {} {options}`", legible(&shell_path(path))),
        None => format!("`howlate show {options}`"),
    }
}
