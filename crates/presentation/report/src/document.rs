//! A page around what it tells: it holds everything it needs.

use howlate_render::legible_lines;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::content_security_policy::policy;

/// The whole page.
pub(crate) fn document(title: &str, (style, script): (&str, &str), main: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(style, script));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="howlate";
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(style)) }
            }
            body {
                main { (main) }
                script { (PreEscaped(script)) }
            }
        }
    };
    legible_lines(&document.into_string()).into_owned()
}
