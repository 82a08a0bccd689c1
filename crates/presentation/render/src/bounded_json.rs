//! JSON answers of a bounded size. Long lists keep their first entries, or those of the largest latency; what is left out is counted.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use howlate_model::schema_as_written;
use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Bytes of an answer: a script's buffer, a pipe's content on Linux, what a language model reads without loss of the rest.
const ANSWER_BYTES: usize = 64 * 1024;
/// Entries that lists keep at least, and from which depth on, in the order in which lists are cut: an entry of the document's own lists
/// is an answer, and what is in it are details.
const ROUNDS: [(usize, usize); 6] =
    [(10, WITHIN_ENTRIES), (3, WITHIN_ENTRIES), (10, 0), (1, WITHIN_ENTRIES), (3, 0), (1, 0)];
/// Depth of lists that are not the document's own.
const WITHIN_ENTRIES: usize = 2;
/// Lists of these names stay whole: entries that add up to what they are parts of, and the words of a command.
const WHOLE: [&str; 2] = ["parts", "arguments"];
/// The member that counts what is missing, by the names that lead to a list.
const OMITTED: &str = "omitted";
const OMITTED_DESCRIPTION: &str = "Entries that this answer leaves out of its lists, by the names that lead to them (`results.why.worst`); \
     absent where it is whole, as with `--details`. Lists of numbers are left out as a whole.";
/// Entries with this member, a number, are kept by its value.
const LATENCY: &str = "latency_ns";

/// A document of at most 64 KiB, if its single texts are no longer. Unchanged where it is that short; otherwise its lists
/// are shortened, the deepest first, and `omitted` says by how many entries. Lists of numbers are kept or emptied, as the place of an
/// entry means something there.
pub fn bounded_json(text: &str) -> serde_json::Result<Cow<'_, str>> {
    if text.len() <= ANSWER_BYTES {
        return Ok(Cow::Borrowed(text));
    }
    let is_pretty = text.trim_end().contains('\n');
    let mut document = BoundedDocument::parse(text)?;
    document.shorten(ANSWER_BYTES, is_pretty);
    let text =
        if is_pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
    Ok(Cow::Owned(text? + "\n"))
}

/// The JSON Schema of documents that are printed by [`bounded_json`], draft 2020-12.
pub(crate) fn answer_schema<T: JsonSchema>() -> serde_json::Result<String> {
    let mut schema = schema_as_written::<T>();
    let choices = schema.get("anyOf").and_then(Value::as_array).cloned().unwrap_or_default();
    let names = choices.iter().filter_map(|choice| choice["$ref"].as_str()?.strip_prefix("#/$defs/"));
    let mut pointers: Vec<String> = names.map(|name| format!("/$defs/{name}")).collect();
    if pointers.is_empty() {
        pointers.push(String::new());
    }
    for pointer in pointers {
        let properties = schema.pointer_mut(&format!("{pointer}/properties")).and_then(Value::as_object_mut);
        let Some(properties) = properties else { continue };
        let counts = json!({ "type": "integer", "minimum": 1 });
        properties.insert(
            OMITTED.to_owned(),
            json!({ "description": OMITTED_DESCRIPTION, "type": "object", "additionalProperties": counts }),
        );
    }
    serde_json::to_string_pretty(&schema).map(|text| text + "\n")
}

/// A JSON document, with its lists by their place.
struct BoundedDocument<'a> {
    root: JsonNode<'a>,
    lists: Vec<ListPlace>,
}

/// All lists under the same names.
struct ListPlace {
    /// The members that lead to them: `results.why.worst`.
    name: String,
    depth: usize,
    /// Entries of the longest.
    longest: usize,
    /// Whether all entries are numbers.
    is_series: bool,
    /// Entries that each of them keeps at most.
    limit: usize,
}

enum JsonNode<'a> {
    Leaf(&'a RawValue),
    /// A list, and the index of its place.
    List(usize, Vec<RankedEntry<'a>>),
    Object(Vec<(String, JsonNode<'a>)>),
}

/// An entry of a list, and its rank among those: that of rank 0 is kept longest.
struct RankedEntry<'a> {
    rank: usize,
    node: JsonNode<'a>,
}

/// The members of an object in their order.
struct OrderedMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for OrderedMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OrderedVisitor;
        impl<'de> Visitor<'de> for OrderedVisitor {
            type Value = OrderedMembers<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OrderedMembers<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(OrderedMembers(members))
            }
        }
        from.deserialize_map(OrderedVisitor)
    }
}

impl<'a> BoundedDocument<'a> {
    fn parse(text: &'a str) -> serde_json::Result<Self> {
        let mut lists = Vec::new();
        let root = JsonNode::parse(serde_json::from_str(text)?, "", 0, &mut lists)?;
        Ok(Self { root, lists })
    }

    /// Limits its lists so that it takes at most `bytes`, if that can be had.
    fn shorten(&mut self, bytes: usize, is_pretty: bool) {
        let mut order: Vec<usize> = (0..self.lists.len()).collect();
        order.sort_by_key(|place| Reverse(self.lists[*place].depth));
        // What counts the rest takes room as well.
        let room: usize = self.lists.iter().map(|list| list.name.len() + COUNT_BYTES).sum();
        let bytes = bytes.saturating_sub(room);
        for (shown, from_depth) in ROUNDS {
            let places = order.iter().filter(|place| self.lists[**place].is_cut_from(from_depth));
            for place in places.copied().collect::<Vec<_>>() {
                if self.size(is_pretty) <= bytes {
                    return;
                }
                self.limit(place, shown, bytes, is_pretty);
            }
        }
    }

    /// Cuts the lists of a place to `shown` entries, or to as many more as there is room for.
    fn limit(&mut self, place: usize, shown: usize, bytes: usize, is_pretty: bool) {
        let ListPlace { is_series, longest, limit, .. } = self.lists[place];
        let most = limit.min(longest);
        if most <= shown {
            return;
        }
        let shown = if is_series { 0 } else { shown };
        self.lists[place].limit = shown;
        if is_series || self.size(is_pretty) > bytes {
            return;
        }
        let (mut fits, mut too_many) = (shown, most);
        while too_many - fits > 1 {
            let between = fits.midpoint(too_many);
            self.lists[place].limit = between;
            if self.size(is_pretty) <= bytes { fits = between } else { too_many = between }
        }
        self.lists[place].limit = fits;
    }

    fn size(&self, is_pretty: bool) -> usize {
        self.root.size(&self.lists, is_pretty.then_some(0))
    }

    /// Entries that are left out, by place; those within entries that are left out as well among them.
    fn omitted(&self) -> BTreeMap<&str, usize> {
        let (mut all, mut shown) = (vec![0; self.lists.len()], vec![0; self.lists.len()]);
        self.root.count_entries(None, &mut all);
        self.root.count_entries(Some(&self.lists), &mut shown);
        let missing = self.lists.iter().zip(all.iter().zip(shown));
        missing
            .filter(|(_, (all, shown))| *all > shown)
            .map(|(list, (all, shown))| (list.name.as_str(), all - shown))
            .collect()
    }
}

/// What a line of `omitted` takes besides the name of its list: indentation, quotes, a number.
const COUNT_BYTES: usize = 32;

impl<'a> JsonNode<'a> {
    fn parse(
        raw: &'a RawValue,
        name: &str,
        depth: usize,
        lists: &mut Vec<ListPlace>,
    ) -> serde_json::Result<Self> {
        match raw.get().as_bytes().first() {
            Some(b'{') => {
                let OrderedMembers(members) = serde_json::from_str(raw.get())?;
                let member = |(key, raw): (String, &'a RawValue)| {
                    let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                    Ok((key, Self::parse(raw, &name, depth + 1, lists)?))
                };
                Ok(Self::Object(members.into_iter().map(member).collect::<serde_json::Result<_>>()?))
            }
            Some(b'[') => {
                let raw: Vec<&RawValue> = serde_json::from_str(raw.get())?;
                let place = ListPlace::of(name, depth, raw.len(), lists);
                let nodes = raw.into_iter().map(|raw| Self::parse(raw, name, depth + 1, lists));
                let nodes: Vec<Self> = nodes.collect::<serde_json::Result<_>>()?;
                lists[place].is_series &= nodes.iter().all(Self::is_number);
                Ok(Self::List(place, ranked(nodes)))
            }
            _ => Ok(Self::Leaf(raw)),
        }
    }

    /// Bytes as text; `indent` is that of its line, if there are line breaks.
    fn size(&self, lists: &[ListPlace], indent: Option<usize>) -> usize {
        let within = indent.map(|indent| indent + INDENT);
        match self {
            Self::Leaf(raw) => raw.get().len(),
            Self::List(place, entries) => {
                let shown = entries.iter().filter(|entry| entry.is_kept(&lists[*place]));
                bracketed(shown.map(|entry| entry.node.size(lists, within)), indent)
            }
            Self::Object(members) => {
                // Quotes and colon; a space where there are line breaks.
                let name = |key: &str| key.len() + 3 + usize::from(indent.is_some());
                bracketed(members.iter().map(|(key, node)| name(key) + node.size(lists, within)), indent)
            }
        }
    }

    fn is_number(&self) -> bool {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
        matches!(self, Self::Leaf(raw) if raw.get().as_bytes().first().is_some_and(is_digit))
    }

    /// Counts the entries of all lists by place; only of what is kept, if limits are given.
    fn count_entries(&self, limits: Option<&[ListPlace]>, counts: &mut [usize]) {
        match self {
            Self::Leaf(_) => {}
            Self::List(place, entries) => {
                let is_kept =
                    |entry: &&RankedEntry<'_>| limits.is_none_or(|lists| entry.is_kept(&lists[*place]));
                for entry in entries.iter().filter(is_kept) {
                    counts[*place] += 1;
                    entry.node.count_entries(limits, counts);
                }
            }
            Self::Object(members) => members.iter().for_each(|(_, node)| node.count_entries(limits, counts)),
        }
    }

    /// The number that its entries are kept by.
    fn latency(&self) -> Option<f64> {
        let Self::Object(members) = self else { return None };
        let (_, node) = members.iter().find(|(key, _)| key == LATENCY)?;
        let Self::Leaf(raw) = node else { return None };
        raw.get().parse().ok()
    }
}

/// Spaces that serde_json indents by.
const INDENT: usize = 2;

/// Bytes of a list or an object with entries of these sizes.
fn bracketed(sizes: impl Iterator<Item = usize>, indent: Option<usize>) -> usize {
    let (entries, size) = sizes.fold((0, 0), |(entries, sum), size| (entries + 1, sum + size));
    if entries == 0 {
        return 2;
    }
    // Brackets, and commas between; each entry and the closing bracket have a line of their own.
    let lines = indent.map_or(0, |indent| entries * (1 + indent + INDENT) + 1 + indent);
    2 + entries - 1 + size + lines
}

/// By their latency where all have one, the largest first; otherwise by their order.
fn ranked(nodes: Vec<JsonNode<'_>>) -> Vec<RankedEntry<'_>> {
    let latencies: Option<Vec<f64>> = nodes.iter().map(JsonNode::latency).collect();
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    if let Some(latencies) = latencies {
        order.sort_by(|left, right| latencies[*right].total_cmp(&latencies[*left]));
    }
    let mut entries: Vec<_> = nodes.into_iter().map(|node| RankedEntry { rank: 0, node }).collect();
    order.into_iter().enumerate().for_each(|(rank, index)| entries[index].rank = rank);
    entries
}

impl RankedEntry<'_> {
    const fn is_kept(&self, list: &ListPlace) -> bool {
        self.rank < list.limit
    }
}

impl ListPlace {
    fn is_cut_from(&self, depth: usize) -> bool {
        self.depth >= depth && !self.name.rsplit('.').next().is_some_and(|last| WHOLE.contains(&last))
    }

    /// The index of a place, which is added where it is new.
    fn of(name: &str, depth: usize, entries: usize, lists: &mut Vec<Self>) -> usize {
        let found = lists.iter().position(|list| list.name == name && list.depth == depth);
        let place = found.unwrap_or(lists.len());
        if found.is_none() {
            let name = name.to_owned();
            lists.push(Self { name, depth, longest: 0, is_series: true, limit: usize::MAX });
        }
        lists[place].longest = lists[place].longest.max(entries);
        place
    }
}

impl Serialize for BoundedDocument<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let omitted = self.omitted();
        let JsonNode::Object(members) = &self.root else {
            return LimitedNode(&self.root, &self.lists).serialize(to);
        };
        let shown = members
            .iter()
            .map(|(key, node)| (key.as_str(), AnswerMember::Kept(LimitedNode(node, &self.lists))));
        to.collect_map(shown.chain([(OMITTED, AnswerMember::Counts(omitted))]))
    }
}

/// What the document's object holds.
enum AnswerMember<'a> {
    Kept(LimitedNode<'a>),
    Counts(BTreeMap<&'a str, usize>),
}

impl Serialize for AnswerMember<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Kept(node) => node.serialize(to),
            Self::Counts(counts) => counts.serialize(to),
        }
    }
}

/// A node with the limits of its lists.
struct LimitedNode<'a>(&'a JsonNode<'a>, &'a [ListPlace]);

impl Serialize for LimitedNode<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(node, lists) = *self;
        match node {
            JsonNode::Leaf(raw) => raw.serialize(to),
            JsonNode::List(place, entries) => {
                let shown = entries.iter().filter(|entry| entry.is_kept(&lists[*place]));
                to.collect_seq(shown.map(|entry| LimitedNode(&entry.node, lists)))
            }
            JsonNode::Object(members) => {
                to.collect_map(members.iter().map(|(key, node)| (key, LimitedNode(node, lists))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pretty(document: &Value) -> String {
        serde_json::to_string_pretty(document).unwrap() + "\n"
    }

    fn shortened(document: &Value) -> Value {
        let text = pretty(document);
        let bounded = bounded_json(&text).unwrap();
        assert!(bounded.len() <= ANSWER_BYTES, "{} bytes", bounded.len());
        serde_json::from_str(&bounded).unwrap()
    }

    fn entries(count: usize, entry: impl Fn(usize) -> Value) -> Value {
        (0..count).map(entry).collect()
    }

    #[test]
    fn what_is_short_stays_as_it_is() {
        let text = pretty(&json!({ "results": entries(100, |number| json!({ "number": number })) }));
        assert!(matches!(bounded_json(&text).unwrap(), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn the_deepest_lists_are_cut_first_and_counted() {
        let worst = entries(2_000, |number| json!({ "at": number }));
        let results = entries(20, |number| json!({ "number": number, "worst": worst }));
        let document = shortened(&json!({ "format": 1, "results": results }));
        assert_eq!(document["results"].as_array().unwrap().len(), 20);
        let worst = document["results"][19]["worst"].as_array().unwrap();
        assert!(worst.len() >= 10, "{}", worst.len());
        assert_eq!(worst[0]["at"], 0);
        assert_eq!(document["omitted"], json!({ "results.worst": 20 * (2_000 - worst.len()) }));
    }

    #[test]
    fn entries_with_a_latency_are_kept_by_it_in_their_order() {
        // Every 100th is late, the later the more.
        let latency = |number: usize| if number % 100 == 7 { 1_000 + number } else { 1 };
        let incident =
            |number| json!({ "number": number, "latency_ns": latency(number), "text": "x".repeat(300) });
        let document = shortened(&json!({ "incidents": entries(1_500, incident) }));
        let shown: Vec<u64> = document["incidents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|shown| shown["number"].as_u64().unwrap())
            .collect();
        assert!(shown.is_sorted());
        let late: Vec<u64> = (0..15).map(|hundred| hundred * 100 + 7).collect();
        assert!(late.iter().all(|number| shown.contains(number)), "{shown:?}");
    }

    #[test]
    fn answers_stay_before_their_details_and_parts_stay_with_their_sum() {
        let parts = entries(8, |number| json!({ "ns": number }));
        let worst = entries(10, |number| json!({ "latency_ns": 190, "at": number, "parts": parts }));
        let document = shortened(
            &json!({ "results": entries(23, |number| json!({ "number": number, "worst": worst })) }),
        );
        let results = document["results"].as_array().unwrap();
        assert_eq!(results.len(), 23);
        let worst = results[22]["worst"].as_array().unwrap();
        assert!((3..10).contains(&worst.len()), "{}", worst.len());
        assert!(worst.iter().all(|entry| entry["parts"].as_array().unwrap().len() == 8));
    }

    #[test]
    fn a_command_stays_whole() {
        let arguments = entries(12, |number| json!(format!("argument {number}")));
        let results = entries(5_000, |number| json!({ "number": number }));
        let document = shortened(&json!({ "arguments": arguments, "results": results }));
        assert_eq!(document["arguments"], arguments);
        assert!(document["omitted"]["results"].as_u64().unwrap() > 1_000);
    }

    #[test]
    fn series_of_numbers_are_emptied_and_pairs_stay() {
        let result = json!({ "interval_ns": [1, 2], "series": entries(2_000, |number| json!(number)) });
        let document = shortened(&json!({ "results": entries(10, |_| result.clone()) }));
        assert_eq!(document["results"][9], json!({ "interval_ns": [1, 2], "series": [] }));
        assert_eq!(document["omitted"], json!({ "results.series": 20_000 }));
    }

    #[test]
    fn the_order_of_names_stays_and_a_line_stays_a_line() {
        let text = format!(
            "{{\"z\":1,\"list\":{},\"a\":2}}\n",
            entries(5_000, |number| json!({ "text": format!("\u{e9}{number}") }))
        );
        let bounded = bounded_json(&text).unwrap();
        assert_eq!(bounded.lines().count(), 1);
        assert!(
            bounded.starts_with("{\"z\":1,\"list\":[")
                && bounded.contains("],\"a\":2,\"omitted\":{\"list\":")
        );
        assert!(bounded.len() <= ANSWER_BYTES && bounded.len() > ANSWER_BYTES * 9 / 10);
    }

    #[test]
    fn the_size_is_that_of_the_text() {
        let document = json!({ "a": [], "b": [{}, [], { "c": [1, "\u{e9}\n"] }], "d": { "e": null } });
        let (line, lines) = (document.to_string(), serde_json::to_string_pretty(&document).unwrap());
        assert_eq!(BoundedDocument::parse(&line).unwrap().size(false), line.len());
        assert_eq!(BoundedDocument::parse(&lines).unwrap().size(true), lines.len());
    }

    #[test]
    fn what_is_no_json_is_refused() {
        bounded_json(&"x".repeat(ANSWER_BYTES + 1)).unwrap_err();
    }
}
