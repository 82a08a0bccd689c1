//! The options of cyclictest, which the usual parser does not know.

use howlate_cyclictest::{Compat, OptionHelp, options_help};
use roff::{Roff, bold, roman};

/// Sections that follow those of the command.
pub(super) fn options() -> String {
    let all = options_help(Compat::default());
    let (original, own): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.of_the_original);
    let mut page = Roff::new();
    list(&mut page, "OPTIONS OF CYCLICTEST", &original);
    list(&mut page, "OPTIONS OF HOWLATE", &own);
    page.control("SH", ["ENVIRONMENT"]);
    page.control("TP", []);
    page.text([bold("HOWLATE_COMPAT")]);
    page.text([roman(
        "The version whose output is written where neither --compat nor the program's name says it.",
    )]);
    page.to_roff()
}

fn list(page: &mut Roff, heading: &str, options: &[OptionHelp]) {
    page.control("SH", [heading]);
    for option in options {
        page.control("TP", []);
        page.text([bold(option.names.as_str())]);
        page.text([roman(option.help)]);
    }
}
