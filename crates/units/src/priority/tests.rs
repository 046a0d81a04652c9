use super::*;

#[test]
fn is_read_and_written_as_in_the_header_field() {
    for (text, urgency, incremental) in [("u=1, i", 1, true), ("u=7", 7, false), ("i", 3, true), ("i,u=0", 0, true)] {
        let priority = Priority { urgency, incremental };
        assert_eq!(text.parse(), Ok(priority), "{text}");
        assert_eq!(priority.to_string().parse(), Ok(priority));
    }
    for text in ["", "u=8", "u=", "u=1 i", "i, i", "urgent", "u=11"] {
        assert_eq!(text.parse::<Priority>(), Err(()), "{text}");
    }
}
