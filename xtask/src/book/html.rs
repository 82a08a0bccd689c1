//! Changes to mdBook's pages for narrow screens: options are not broken, and cells of tables have their headings.

/// Begins code in a sentence; blocks of code have a `pre` around it, and scroll.
const CODE: &str = "<code>";
const CODE_END: &str = "</code>";

/// Begins a table, as mdBook writes it.
const TABLE: &str = "<table>";
const TABLE_END: &str = "</table>";

/// Marks options as unbreakable: browsers break a line after each hyphen otherwise, `-` above and `-by` below.
pub(super) fn mark_options(html: &str) -> String {
    let mut parts = html.split(CODE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_block = text.ends_with("<pre>");
        text.push_str(CODE);
        match part.split_once(CODE_END) {
            Some((code, rest)) if !is_block => {
                text.push_str(&format!("{}{CODE_END}{rest}", mark_words(code)))
            }
            _ => text.push_str(part),
        }
    }
    text
}

fn mark_words(code: &str) -> String {
    let mark = |word: &str| match word.starts_with('-') {
        true => format!("<span class=\"whole\">{word}</span>"),
        false => word.to_owned(),
    };
    code.split(' ').map(mark).collect::<Vec<_>>().join(" ")
}

/// Adds headings to the cells of tables of sentences, which narrow pages show below each other: tables with more than two columns,
/// none of them aligned as numbers are.
pub(super) fn label_cells(html: &str) -> String {
    let mut parts = html.split(TABLE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (table, rest) = part.split_once(TABLE_END).unwrap_or((part, ""));
        let headings = headings(table);
        let end = if rest.is_empty() { "" } else { TABLE_END };
        match headings.len() > 2 && !table.contains("<td style=") {
            true => text.push_str(&format!(
                "<table class=\"sentences\">{}{end}{rest}",
                table.lines().map(|line| format!("{}\n", label_row(line, &headings))).collect::<String>()
            )),
            false => text.push_str(&format!("{TABLE}{table}{end}{rest}")),
        }
    }
    text
}

fn headings(table: &str) -> Vec<String> {
    let head = table.split_once("</thead>").map_or("", |(head, _)| head);
    head.split("<th>")
        .skip(1)
        .map(|cell| attribute_text(cell.split("</th>").next().unwrap_or_default()))
        .collect()
}

/// Text without markup, with quotes escaped.
fn attribute_text(html: &str) -> String {
    let text = |part: &str| part.split_once('>').map_or_else(|| part.to_owned(), |(_, text)| text.to_owned());
    let mut parts = html.split('<');
    let first = parts.next().unwrap_or_default().to_owned();
    (first + &parts.map(text).collect::<String>()).replace('"', "&quot;")
}

/// Adds its heading to each cell of a row except the first. mdBook writes a row as one line.
fn label_row(line: &str, headings: &[String]) -> String {
    let mut cells = line.split("<td>");
    let mut text = cells.next().unwrap_or_default().to_owned();
    for (place, (cell, heading)) in cells.zip(headings).enumerate() {
        match place == 0 || heading.is_empty() {
            true => text.push_str(&format!("<td>{cell}")),
            false => text.push_str(&format!("<td data-heading=\"{heading}\">{cell}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table as mdBook writes it.
    fn table(head: &str, row: &str) -> String {
        format!("<p><table><thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n<tr>{row}</tr>\n</tbody></table></p>")
    }

    #[test]
    fn cells_of_sentences_have_their_headings() {
        let head = "<th>part</th><th>from \"a\"</th><th><code>--by</code></th>";
        let text = label_cells(&table(head, "<td>1</td><td>2</td><td>3</td>"));
        let row = "<td>1</td><td data-heading=\"from &quot;a&quot;\">2</td><td data-heading=\"--by\">3</td>";
        assert!(text.contains(&format!("<tr>{row}</tr>")), "{text}");
        assert!(
            text.starts_with("<p><table class=\"sentences\"><thead>\n") && text.ends_with("</table></p>"),
            "{text}"
        );
    }

    #[test]
    fn numbers_and_pairs_stay_as_they_are() {
        let pair = table("<th>a</th><th>b</th>", "<td>1</td><td>2</td>");
        assert_eq!(label_cells(&pair), pair);
        let row = "<td>1</td><td style=\"text-align: right\">2</td><td>3</td>";
        let numbers = table("<th>a</th><th style=\"text-align: right\">b</th><th>c</th>", row);
        assert_eq!(label_cells(&numbers), numbers);
    }

    #[test]
    fn options_within_a_sentence_are_marked() {
        assert_eq!(
            mark_options("<p>a <code>show --by x</code> --no"),
            "<p>a <code>show <span class=\"whole\">--by</span> x</code> --no"
        );
        let block = "<pre><code>a --by</code></pre><code class=\"language-sh\">b --by</code>";
        assert_eq!(mark_options(block), block);
    }
}
