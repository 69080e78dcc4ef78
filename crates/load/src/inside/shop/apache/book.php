<?php
// What the database holds: goods, and the orders that are written into it.
declare(strict_types=1);

final class Book
{
    private const STOCK = 1000;

    private ?array $categories = null;

    public function __construct(private mysqli $database)
    {
    }

    /** Names by number. */
    public function categories(): array
    {
        $this->categories ??= array_column($this->rows('SELECT id, name FROM categories ORDER BY id', []), 'name', 'id');
        return $this->categories;
    }

    public function chosen(int $every): array
    {
        return $this->rows('SELECT * FROM products WHERE id % ? = 1 ORDER BY id', [$every]);
    }

    public function inCategory(int $category, int $from, int $count): array
    {
        return $this->rows('SELECT * FROM products WHERE category = ? ORDER BY id LIMIT ?, ?', [$category, $from, $count]);
    }

    /** Those whose name or description holds every one of the words. */
    public function search(string $words): array
    {
        $words = preg_split('/\s+/', $words, -1, PREG_SPLIT_NO_EMPTY);
        if ($words === []) {
            return [];
        }
        $holds = implode(' AND ', array_fill(0, count($words), "CONCAT(name, ' ', description) LIKE ?"));
        $patterns = array_map(fn(string $word) => '%' . addcslashes($word, '%_\\') . '%', $words);
        return $this->rows("SELECT * FROM products WHERE $holds ORDER BY id", $patterns);
    }

    public function product(int $id): ?array
    {
        return $this->rows('SELECT * FROM products WHERE id = ?', [$id])[0] ?? null;
    }

    /** The products of a cart beside their quantities. */
    public function priced(array $cart): array
    {
        return array_map(fn(array $line) => [$this->product($line[0]), $line[1]], $cart);
    }

    /** Writes an order and takes what it wants from stock, all or nothing; its number and total. */
    public function order(string $session, array $lines): array
    {
        $total = array_sum(array_map(fn(array $line) => $line[1] * (int) $line[0]['price_cents'], $lines));
        // Always in the same order, so that two orders never wait for each other.
        usort($lines, fn(array $one, array $other) => (int) $one[0]['id'] <=> (int) $other[0]['id']);
        $this->database->begin_transaction();
        try {
            $this->database->execute_query('INSERT INTO orders (session, total_cents) VALUES (?, ?)', [$session, $total]);
            $number = (int) $this->database->insert_id;
            foreach ($lines as $at => [$product, $quantity]) {
                $values = [$number, $at, $product['id'], $quantity, $product['price_cents']];
                $this->database->execute_query('INSERT INTO order_lines VALUES (?, ?, ?, ?, ?)', $values);
                $this->database->execute_query(
                    'UPDATE products SET stock = IF(stock >= ?, stock - ?, stock + ? - ?) WHERE id = ?',
                    [$quantity, $quantity, self::STOCK, $quantity, $product['id']]
                );
            }
            $this->database->commit();
        } catch (mysqli_sql_exception $failure) {
            $this->database->rollback();
            throw $failure;
        }
        return [$number, $total];
    }

    private function rows(string $query, array $values): array
    {
        return $this->database->execute_query($query, $values)->fetch_all(MYSQLI_ASSOC);
    }
}
