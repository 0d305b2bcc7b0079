// Adds a term to a sum, and keeps what rounding takes off for the next time, as the host does.
FUNCTION void add_term(double *sum, double *lost, double term)
{
    const double whole = term + *lost;
    const double next = *sum + whole;
    *lost = whole - (next - *sum);
    *sum = next;
}
