//! Encodes messages of Protocol Buffers.
//!
//! Source: <https://protobuf.dev/programming-guides/encoding/>

/// An encoded message.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProtobufMessage(Vec<u8>);

/// Wire types.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const SIZED: u64 = 2;

impl ProtobufMessage {
    pub(crate) fn number(mut self, field: u32, value: u64) -> Self {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    /// A field of type `sint32` or `sint64`.
    pub(crate) fn signed(self, field: u32, value: i64) -> Self {
        self.number(field, ((value << 1) ^ (value >> 63)).cast_unsigned())
    }

    pub(crate) fn real(mut self, field: u32, value: f64) -> Self {
        self.key(field, EIGHT_BYTES);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A field of type `fixed64`.
    pub(crate) fn fixed(mut self, field: u32, value: u64) -> Self {
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

    /// A repeated field.
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

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The message preceded by its length, as in a stream of messages.
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

    /// A decoded value.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum FieldValue {
        Number(u64),
        Real(f64),
        Sized(Vec<u8>),
    }

    impl FieldValue {
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
    pub(crate) fn fields(mut bytes: &[u8]) -> Vec<(u64, FieldValue)> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let key = read_varint(&mut bytes);
            let mut take = |count: usize| {
                let (head, rest) = bytes.split_at(count);
                bytes = rest;
                head.to_vec()
            };
            let value = match key & 7 {
                EIGHT_BYTES => FieldValue::Real(f64::from_le_bytes(take(8).try_into().unwrap())),
                VARINT => FieldValue::Number(read_varint(&mut bytes)),
                _ => {
                    let length = usize::try_from(read_varint(&mut bytes)).unwrap();
                    let (head, rest) = bytes.split_at(length);
                    bytes = rest;
                    FieldValue::Sized(head.to_vec())
                }
            };
            all.push((key >> 3, value));
        }
        all
    }

    /// The values of one field.
    pub(crate) fn values(bytes: &[u8], field: u64) -> Vec<FieldValue> {
        fields(bytes).into_iter().filter(|(number, _)| *number == field).map(|(_, value)| value).collect()
    }

    #[test]
    fn a_message_is_laid_out_as_the_encoding_says() {
        let inner = ProtobufMessage::default().number(1, 150);
        assert_eq!(inner.clone().into_bytes(), [0x08, 0x96, 0x01], "the example of the encoding's own page");
        let outer =
            ProtobufMessage::default().text(2, "testing").message(3, &inner).signed(4, -2).real(16, 1.0);
        let expected = [&[0x12, 7][..], b"testing", &[0x1a, 3, 0x08, 0x96, 1, 0x20, 3, 0x81, 1]].concat();
        let bytes = outer.clone().into_bytes();
        assert_eq!(bytes[..expected.len()], expected);
        assert_eq!(bytes[expected.len()..], 1.0_f64.to_le_bytes());
        assert_eq!(usize::from(outer.delimited()[0]), bytes.len());
        assert_eq!(values(&bytes, 3)[0].bytes(), inner.into_bytes());
        assert_eq!(
            (values(&bytes, 4), values(&bytes, 16)),
            (vec![FieldValue::Number(3)], vec![FieldValue::Real(1.0)])
        );
    }
}
