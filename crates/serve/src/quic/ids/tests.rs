use super::*;

fn ids() -> Ids {
    Ids::new(([1; 8], [2; 16]), vec![9; 8])
}
fn new(sequence: u64, retire_prior_to: u64) -> NewId {
    NewId { path_id: 0, sequence, retire_prior_to, cid: vec![100 + sequence as u8; 8] }
}

#[test]
fn as_many_are_given_as_both_allow() {
    let mut ids = ids();
    assert!(ids.wants(2) && !ids.wants(1));
    assert_eq!((ids.give([3; 8], [4; 16]), ids.wants(2)), (1, false));
    assert_eq!((ids.give([5; 8], [6; 16]), ids.give([7; 8], [8; 16]), ids.wants(100)), (2, 3, false));
    let mut bytes = [0; 24];
    ids.copy(1, &mut bytes);
    assert_eq!((&bytes[..8], &bytes[8..]), (&[3; 8][..], &[4; 16][..]));
    // One goes, and may go twice in a packet that comes twice; another may come.
    ids.arrive(&[1; 8]);
    assert_eq!((ids.give_back(1), ids.give_back(1), ids.take_given_back()), (Ok(()), Ok(()), vec![[3; 8]]));
    assert!(ids.wants(100));
    assert_eq!(ids.give_back(4), Err(PROTOCOL_VIOLATION), "never given");
    assert_eq!(ids.give_back(0), Err(PROTOCOL_VIOLATION), "the packet came to it");
}

#[test]
fn another_address_gets_another_id() {
    let mut ids = ids();
    ids.address(0);
    ids.address(1);
    assert_eq!(ids.peer(), [9; 8], "the only one");
    assert_eq!((ids.take(&new(1, 0)), ids.take(&new(2, 0))), (Ok(vec![]), Ok(vec![])));
    ids.address(1);
    assert_eq!(ids.peer(), [101; 8]);
    ids.address(0);
    assert_eq!(ids.peer(), [9; 8]);
    assert_eq!(ids.settle(1), [0]);
    ids.address(1);
    assert_eq!(ids.peer(), [101; 8]);
    // Told again, it does not come back.
    assert_eq!(ids.take(&NewId { path_id: 0, sequence: 0, retire_prior_to: 0, cid: vec![9; 8] }), Ok(vec![]));
    ids.address(0);
    assert_eq!(ids.peer(), [102; 8]);
}

#[test]
fn what_the_client_wants_back_goes() {
    let mut ids = ids();
    ids.address(0);
    assert_eq!(ids.take(&new(3, 3)), Ok(vec![0]));
    ids.address(0);
    assert_eq!(ids.peer(), [103; 8]);
    assert_eq!(ids.take(&new(2, 0)), Ok(vec![2]), "it came late");
}

#[test]
fn rules_of_giving() {
    let mut other = ids();
    assert_eq!(other.take(&new(1, 0)), Ok(vec![]));
    assert_eq!(other.take(&new(1, 0)), Ok(vec![]), "a frame that comes twice");
    let changed = NewId { cid: vec![1; 8], ..new(1, 0) };
    assert_eq!(other.take(&changed), Err(PROTOCOL_VIOLATION), "another id of the same number");
    let same = NewId { path_id: 0, sequence: 2, ..new(1, 0) };
    assert_eq!(other.take(&same), Err(PROTOCOL_VIOLATION), "the same id under another number");
    let mut many = ids();
    let taken: Vec<_> = (1..=4).map(|sequence| many.take(&new(sequence, 0)).is_ok()).collect();
    assert_eq!(taken, [true, true, true, false], "four in all");
    assert_eq!(Ids::new(([1; 8], [2; 16]), vec![]).take(&new(1, 0)), Err(PROTOCOL_VIOLATION), "it has none");
}
