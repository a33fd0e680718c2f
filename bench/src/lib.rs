//! Nothing by itself: the benches of the other crates stand in `benches`.
