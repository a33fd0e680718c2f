//! Maps of a spec as tables: each row is a field of the model and all that is known of its key.

/// A map whose fields are all rows: `/// meaning` and `name: Type = key;`. From the rows follow the
/// struct, the keys, reading, printing and pieces of ids.
macro_rules! record {
    (
        $(#[doc = $about:literal])+
        $record:ident {
            $( $(#[doc = $doc:literal])+ $field:ident: $type:ty = $key:expr; )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq, Default)]
        pub struct $record {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl $record {
            /// The keys of the map.
            pub(in crate::spec) const KEYS: &'static [Key] = &[ $(
                $key.of(stringify!($field), concat!($($doc),+), <$type as Valued>::AUTO),
            )+ ];
        }

        impl Valued for $record {
            fn read(reader: &mut Reader<'_>, field: Option<Field<'_>>) -> Self {
                let Some(field) = field else {
                    return Self::default();
                };
                let (kind, place) = (field.key.kind, field.key_span);
                let map = reader.record(field.node, kind, &field.path, place);
                Self {
                    $( $field: Valued::read(reader, map.get(stringify!($field))), )+
                }
            }

            fn printed(&self) -> Option<Printed> {
                let mut map = Map::default();
                $( map.put(stringify!($field), self.$field.printed()); )+
                map.finished()
            }

            fn say(&self, path: &str, _: &Key, said: &mut Vec<Said>) {
                let mut keys = Self::KEYS.iter();
                $( if let Some(key) = keys.next() {
                    self.$field.say(&format!("{path}.{}", key.name), key, said);
                } )+
            }
        }
    };
}

/// The file's own map, whose fields belong to several structs. Besides rows it has fields with
/// readers and printers of their own; those are gathered in a further struct, from which and the
/// rows the map is made.
macro_rules! file {
    (
        $(#[doc = $about:literal])+
        $record:ident of $own:ident and $($last:ident),+ {
            $(
                $(#[doc = $part_doc:literal])+
                $part:ident: $part_type:ident { $(
                    own { $(
                        $(#[doc = $own_doc:literal])+
                        $own_field:ident: $own_type:ty = $own_key:expr;
                    )+ }
                    rows { $( $(#[doc = $doc:literal])+ $field:ident: $type:ty = $key:expr; )* }
                )+ }
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $record {
            $( $(#[doc = $part_doc])+ pub $part: $part_type, )+
        }

        $(
            $(#[doc = $part_doc])+
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub struct $part_type { $(
                $( $(#[doc = $own_doc])+ pub $own_field: $own_type, )+
                $( $(#[doc = $doc])+ pub $field: $type, )*
            )+ }
        )+

        /// The fields that are read and printed by hand.
        pub(in crate::spec) struct $own {
            $( $( $( pub $own_field: $own_type, )+ )+ )+
        }

        impl $record {
            /// The keys of the file.
            pub(in crate::spec) const KEYS: &'static [Key] = &[
                $( $(
                    $( $own_key.of(stringify!($own_field), concat!($($own_doc),+), false), )+
                    $( $key.of(stringify!($field), concat!($($doc),+), <$type as Valued>::AUTO), )*
                )+ )+
                $($last),+
            ];

            /// Reads the rows, whose problems are listed with those of the other fields.
            pub(in crate::spec) fn read(
                own: Option<$own>,
                reader: &mut Reader<'_>,
                file: &Fields<'_>,
            ) -> Option<Self> {
                $( $( $(
                    let $field = Valued::read(reader, file.get(stringify!($field)));
                )* )+ )+
                let own = own?;
                Some(Self { $(
                    $part: $part_type { $(
                        $( $own_field: own.$own_field, )+
                        $( $field, )*
                    )+ },
                )+ })
            }

            /// Prints the rows.
            pub(in crate::spec) fn print_rows(&self, map: &mut Map) {
                $( $( $(
                    map.put(stringify!($field), self.$part.$field.printed());
                )* )+ )+
            }

            /// The pieces of ids that rows have.
            pub(in crate::spec) fn pieces(&self) -> Vec<Said> {
                let mut said = Vec::new();
                let key = |name: &str| Self::KEYS.iter().find(|key| key.name == name);
                $( $( $( if let Some(key) = key(stringify!($field)) {
                    self.$part.$field.say(key.name, key, &mut said);
                } )* )+ )+
                said
            }
        }
    };
}

pub(in crate::spec) use {file, record};
