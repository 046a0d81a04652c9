use super::*;

fn close(a: f64, b: f64) {
    assert!(fabs(a - b) < 1e-9, "{a} is not {b}");
}

#[test]
fn tabulated_values() {
    close(normal_quantile(0.975), 1.959963984540054);
    close(student_quantile(9.0, 0.975), 2.2621571627409915);
    close(student_quantile(31.0, 0.99), 2.4528241934); // table 26.10 gives 2.453
    close(binomial_cdf(2, 10, 0.5), 56.0 / 1024.0); // 1 + 10 + 45 of 1024
    close(binomial_cdf(0, 8, 0.1), 0.43046721); // 0.9^8
    close(normal_cdf(0.0), 0.5);
}
