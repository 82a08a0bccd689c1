//! Blind mutation of seeds.

use fastrand::Rng;

/// Numbers at which something overflows, wraps or is no longer exact.
const NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "1",
    "7",
    "255",
    "65536",
    "4294967295",
    "4294967296",
    "1152921504606846976",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "170141183460469231731687303715884105727",
    "1e308",
];

/// Tokens that are special to some reader.
const TOKENS: [&[u8]; 16] = [
    b"\n",
    b"\0",
    b"\x1b[2J",
    b"\xff",
    b"\xc2\x9b",
    b"\xe2\x80\xae",
    b"null",
    b"[]",
    b"{}",
    b"\"",
    b"'",
    b",",
    b"-",
    b"=",
    b"all",
    b" ",
];

/// A random seed after one to six changes; `seeds` is not empty.
pub(crate) fn mutate(seeds: &[Vec<u8>], random: &mut Rng) -> Vec<u8> {
    let mut input = seeds[random.usize(..seeds.len())].clone();
    for _ in 0..=random.u8(..6) {
        let other = &seeds[random.usize(..seeds.len())];
        change(&mut input, other, random);
    }
    input
}

fn change(input: &mut Vec<u8>, other: &[u8], random: &mut Rng) {
    let place = random.usize(..=input.len());
    match random.u8(..12) {
        0 | 1 => flip(input, place, random),
        2 => set(input, place, random),
        3 => {
            input.drain(range(input.len(), place, random));
        }
        4 => input.extend_from_within(range(input.len(), place, random)),
        5 => insert(input, place, &other[range(other.len(), random.usize(..=other.len()), random)]),
        6..=8 => replace_number(input, place, random),
        9 => insert(input, place, TOKENS[random.usize(..TOKENS.len())]),
        10 => input.truncate(place),
        _ => change_line(input, other, random),
    }
}

fn flip(input: &mut [u8], place: usize, random: &mut Rng) {
    if let Some(byte) = input.get_mut(place) {
        *byte ^= 1 << random.u8(..8);
    }
}

fn set(input: &mut [u8], place: usize, random: &mut Rng) {
    if let Some(byte) = input.get_mut(place) {
        *byte = random.u8(..);
    }
}

/// A random range that begins at `place`; short ones are likelier.
fn range(length: usize, place: usize, random: &mut Rng) -> std::ops::Range<usize> {
    let longest = 1 << random.u8(..12);
    place..length.min(place + random.usize(..=longest))
}

fn insert(input: &mut Vec<u8>, place: usize, bytes: &[u8]) {
    input.splice(place..place, bytes.iter().copied());
}

/// Replaces the next number by one of `NUMBERS`.
fn replace_number(input: &mut Vec<u8>, place: usize, random: &mut Rng) {
    let Some(from) = input[place..].iter().position(u8::is_ascii_digit).map(|offset| place + offset) else {
        return;
    };
    let digits = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let new = NUMBERS[random.usize(..NUMBERS.len())];
    input.splice(from..from + digits, new.bytes());
}

/// Removes a line, replaces it by a line of another input, or inserts one.
fn change_line(input: &mut Vec<u8>, other: &[u8], random: &mut Rng) {
    let mut lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    let other_lines: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
    let place = random.usize(..=lines.len());
    match (random.u8(..3), other_lines.is_empty()) {
        (0, _) if place < lines.len() => drop(lines.remove(place)),
        (1, false) if place < lines.len() => lines[place] = other_lines[random.usize(..other_lines.len())],
        (_, false) => lines.insert(place, other_lines[random.usize(..other_lines.len())]),
        _ => {}
    }
    *input = lines.concat();
}
