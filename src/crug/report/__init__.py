"""What a user sees: tables and progress in the terminal, and figures. Functions take data and return a table or a
figure; nothing shows or saves behind the caller's back."""
