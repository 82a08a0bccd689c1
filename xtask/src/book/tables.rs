//! Tables of sentences know their headings in each cell: a narrow page shows the cells of a row one below the other.

/// What a table begins with, as mdBook writes it.
const BEGIN: &str = "<table>";
const END: &str = "</table>";

/// Marks the tables that hold sentences: those of more than two columns, of which none is aligned as numbers are.
pub(super) fn labelled(html: &str) -> String {
    let mut parts = html.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (table, rest) = part.split_once(END).unwrap_or((part, ""));
        let headings = headings(table);
        let end = if rest.is_empty() { "" } else { END };
        match headings.len() > 2 && !table.contains("<td style=") {
            true => text.push_str(&format!(
                "<table class=\"sentences\">{}{end}{rest}",
                table.lines().map(|line| format!("{}\n", row(line, &headings))).collect::<String>()
            )),
            false => text.push_str(&format!("{BEGIN}{table}{end}{rest}")),
        }
    }
    text
}

/// The words of each heading.
fn headings(table: &str) -> Vec<String> {
    let head = table.split_once("</thead>").map_or("", |(head, _)| head);
    head.split("<th>").skip(1).map(|cell| words(cell.split("</th>").next().unwrap_or_default())).collect()
}

/// Text without its markup, as an attribute holds it.
fn words(html: &str) -> String {
    let text = |part: &str| part.split_once('>').map_or_else(|| part.to_owned(), |(_, text)| text.to_owned());
    let mut parts = html.split('<');
    let first = parts.next().unwrap_or_default().to_owned();
    (first + &parts.map(text).collect::<String>()).replace('"', "&quot;")
}

/// A row, which is a line, with the heading of each cell but the first.
fn row(line: &str, headings: &[String]) -> String {
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
        let text = labelled(&table(head, "<td>1</td><td>2</td><td>3</td>"));
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
        assert_eq!(labelled(&pair), pair);
        let row = "<td>1</td><td style=\"text-align: right\">2</td><td>3</td>";
        let numbers = table("<th>a</th><th style=\"text-align: right\">b</th><th>c</th>", row);
        assert_eq!(labelled(&numbers), numbers);
    }
}
