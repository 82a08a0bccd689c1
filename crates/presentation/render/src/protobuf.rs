//! Messages of Protocol Buffers, as they are sent.
//!
//! Source: <https://protobuf.dev/programming-guides/encoding/>

/// A message, field by field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(Vec<u8>);

/// How a value is laid out, after the field's number.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const SIZED: u64 = 2;

impl Message {
    pub(crate) fn number(mut self, field: u32, value: u64) -> Self {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    /// Of a field that is `sint32` or `sint64`.
    pub(crate) fn signed(self, field: u32, value: i64) -> Self {
        self.number(field, ((value << 1) ^ (value >> 63)).cast_unsigned())
    }

    pub(crate) fn real(mut self, field: u32, value: f64) -> Self {
        self.key(field, EIGHT_BYTES);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn text(self, field: u32, value: &str) -> Self {
        self.sized(field, value.as_bytes())
    }

    pub(crate) fn message(self, field: u32, value: &Self) -> Self {
        self.sized(field, &value.0)
    }

    /// As many of them as there are.
    pub(crate) fn messages(self, field: u32, values: impl IntoIterator<Item = Self>) -> Self {
        values.into_iter().fold(self, |message, value| message.message(field, &value))
    }

    fn sized(mut self, field: u32, value: &[u8]) -> Self {
        self.key(field, SIZED);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    fn key(&mut self, field: u32, layout: u64) {
        self.varint(u64::from(field) << 3 | layout);
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    /// The message.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The message behind its length, as several follow each other.
    pub(crate) fn delimited(&self) -> Vec<u8> {
        let mut all = Self::default();
        all.varint(self.0.len() as u64);
        all.0.extend(&self.0);
        all.0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What a field holds.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Field {
        Number(u64),
        Real(f64),
        Sized(Vec<u8>),
    }

    impl Field {
        pub(crate) fn bytes(&self) -> &[u8] {
            let Self::Sized(bytes) = self else { panic!("{self:?} has no length") };
            bytes
        }

        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.bytes().to_vec()).unwrap()
        }
    }

    fn read_varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }

    /// The fields of a message, in order.
    pub(crate) fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let key = read_varint(&mut bytes);
            let mut take = |count: usize| {
                let (taken, rest) = bytes.split_at(count);
                bytes = rest;
                taken.to_vec()
            };
            let value = match key & 7 {
                EIGHT_BYTES => Field::Real(f64::from_le_bytes(take(8).try_into().unwrap())),
                VARINT => Field::Number(read_varint(&mut bytes)),
                _ => {
                    let length = usize::try_from(read_varint(&mut bytes)).unwrap();
                    let (taken, rest) = bytes.split_at(length);
                    bytes = rest;
                    Field::Sized(taken.to_vec())
                }
            };
            all.push((key >> 3, value));
        }
        all
    }

    /// The values of one field.
    pub(crate) fn of(bytes: &[u8], field: u64) -> Vec<Field> {
        fields(bytes).into_iter().filter(|(known, _)| *known == field).map(|(_, value)| value).collect()
    }

    #[test]
    fn a_message_is_laid_out_as_the_encoding_says() {
        let inner = Message::default().number(1, 150);
        assert_eq!(inner.clone().into_bytes(), [0x08, 0x96, 0x01], "the example of the encoding's own page");
        let outer = Message::default().text(2, "testing").message(3, &inner).signed(4, -2).real(16, 1.0);
        let expected = [&[0x12, 7][..], b"testing", &[0x1a, 3, 0x08, 0x96, 1, 0x20, 3, 0x81, 1]].concat();
        let bytes = outer.clone().into_bytes();
        assert_eq!(bytes[..expected.len()], expected);
        assert_eq!(bytes[expected.len()..], 1.0_f64.to_le_bytes());
        assert_eq!(usize::from(outer.delimited()[0]), bytes.len());
        assert_eq!(of(&bytes, 3)[0].bytes(), inner.into_bytes());
        assert_eq!((of(&bytes, 4), of(&bytes, 16)), (vec![Field::Number(3)], vec![Field::Real(1.0)]));
    }
}
