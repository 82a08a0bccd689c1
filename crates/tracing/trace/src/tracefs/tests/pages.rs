//! Pages of the ring buffer.

use super::*;

/// A page of records with their headers, at `time`.
fn page(time: u64, commit: u64, data: &[u32]) -> Vec<u8> {
    let data: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
    let commit = commit | data.len() as u64;
    time.to_le_bytes().into_iter().chain(commit.to_le_bytes()).chain(data).collect()
}

/// Times and lengths of the records of a page; `None` for a loss.
fn page_records(page: &[u8]) -> (Vec<(u64, Option<usize>)>, bool) {
    let layout = PageLayout::parse(HEADER_PAGE).unwrap();
    let mut records = Vec::new();
    let whole = page::items(page, &layout, &mut |at, item| {
        records.push((at, if let PageItem::Record(record) = item { Some(record.len()) } else { None }));
    });
    (records, whole.is_some())
}

#[test]
fn times_add_up_over_a_page() {
    assert_eq!(PageLayout::parse(HEADER_PAGE).unwrap().page_size(), 4096);
    let data = [
        3 | 10 << 5,
        1,
        2,
        3, // 12 bytes, 10 ns later
        30 | 5 << 5,
        2, // time goes on by 2 << 27 and 5
        1 << 5,
        12,
        1,
        2, // a length of its own: 8 bytes
        29 | 4 << 5,
        8,
        9, // taken back: 4 bytes behind its length
        31 | 7 << 5,
        3, // the time itself
        1 | 1 << 5,
        1,
        29,
        77,
        77, // the rest is empty
    ];
    let extended = 1_010 + (2 << 27) + 5;
    let absolute = (3 << 27) + 7;
    let expected = [(1_010, Some(12)), (extended + 1, Some(8)), (absolute + 1, Some(4))];
    assert_eq!(page_records(&page(1_000, 0, &data)), (expected.to_vec(), true));
    // The uppermost five bits of the time are those from before.
    let high = 3 << 59;
    assert_eq!(page_records(&page(high, 0, &[31 | 7 << 5, 3, 1, 1])).0, [(high | absolute, Some(4))]);
    assert_eq!(page_records(&page(5, 1 << 31, &[1 | 1 << 5, 1])).0, [(5, None), (6, Some(4))]);
}

#[test]
fn a_damaged_page_ends_where_it_is_damaged() {
    assert_eq!(page_records(&page(5, 0, &[1 | 1 << 5, 1, 9, 1])), (vec![(6, Some(4))], false));
    for data in [[1 << 5, 2, 1], [1 << 5, u32::MAX, 1], [29 | 1 << 5, u32::MAX, 1]] {
        assert_eq!(page_records(&page(5, 0, &data)), (vec![], false), "{data:?}");
    }
    assert_eq!(page_records(&page(5, 4_000, &[1, 1])), (vec![], false));
    assert_eq!(page_records(&[1, 2, 3]), (vec![], false));
}

#[test]
fn losses_of_all_kinds_are_counted() {
    let stats = "entries: 143\noverrun: 4\ncommit overrun: 2\nbytes: 8756\noldest event ts: 14.5\ndropped events: 3\nread events: 1\n";
    assert_eq!(parse_losses(stats), 9);
}
