<?php
// The shop's pages: which is asked for, and what is on it.
declare(strict_types=1);

require __DIR__ . '/frame.php';
require __DIR__ . '/book.php';

const ON_PAGE = 20;
const SHOWN = 341;
const MOST = 99;

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
session_start();
$book = new Book(new mysqli('p:localhost', 'shop', '', 'shop'));
$path = explode('/', trim((string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH), '/'));
$posts = $_SERVER['REQUEST_METHOD'] === 'POST';
$about = count($path) === 2 && preg_match('/^\d+$/D', $path[1]) ? (int) $path[1] : null;

$page = match (true) {
    !$posts && $path === [''] => front($book),
    !$posts && $path[0] === 'category' && $about !== null => category($book, $about, (int) ($_GET['page'] ?? 1)),
    !$posts && $path === ['search'] => search($book, (string) ($_GET['q'] ?? '')),
    !$posts && $path[0] === 'product' && $about !== null => product($book, $about),
    !$posts && $path === ['cart'] => cart($book),
    $posts && $path === ['cart'] => add($book, (int) ($_POST['product'] ?? 0), (int) ($_POST['quantity'] ?? 0)),
    $posts && $path === ['order'] => order($book),
    default => null,
};
http_response_code($page === null ? 404 : 200);
$page ??= ['none', 'Nothing here', '<p>There is no such page.</p>'];
$html = framed($book->categories(), ...$page);
header('Content-Type: text/html; charset=utf-8');
header('Content-Length: ' . strlen($html));
echo $html;

function front(Book $book): array
{
    return ['front', 'Welcome', '<p>Chosen for you today:</p>' . listed($book->chosen(SHOWN))];
}

function category(Book $book, int $category, int $page): ?array
{
    $name = $book->categories()[$category] ?? null;
    if ($name === null || $page < 1) {
        return null;
    }
    return ["category-$category", "$name, page $page", listed($book->inCategory($category, ON_PAGE * ($page - 1), ON_PAGE))];
}

function search(Book $book, string $words): array
{
    $found = $book->search($words);
    $body = '<p>Found <b id="found">' . count($found) . '</b> for ' . escaped($words) . '.</p>';
    return ['search', 'Search', $body . listed(array_slice($found, 0, ON_PAGE))];
}

function product(Book $book, int $id): ?array
{
    $product = $book->product($id);
    if ($product === null) {
        return null;
    }
    $body = '<p>' . escaped($product['description']) . '</p><p>Price <b id="price">' . price((int) $product['price_cents'])
        . "</b>, {$product['stock']} in stock.</p><form method=\"post\" action=\"/cart\">"
        . "<input type=\"hidden\" name=\"product\" value=\"$id\"><input name=\"quantity\" value=\"1\">"
        . '<button>Into the cart</button></form>';
    return ["product-$id", $product['name'], $body];
}

function add(Book $book, int $id, int $quantity): ?array
{
    if ($quantity < 1 || $quantity > MOST || $book->product($id) === null) {
        return null;
    }
    $_SESSION['cart'][] = [$id, $quantity];
    return cart($book);
}

function cart(Book $book): array
{
    [$rows, $total] = ['', 0];
    foreach ($book->priced($_SESSION['cart'] ?? []) as [$product, $quantity]) {
        $cents = $quantity * (int) $product['price_cents'];
        $total += $cents;
        $rows .= "<tr><td>$quantity<td>" . escaped($product['name']) . '<td>' . price($cents);
    }
    $body = "<table>$rows</table><p>Together <b id=\"total\">" . price($total)
        . '</b></p><form method="post" action="/order"><button>Order</button></form>';
    return ['cart', 'Your cart', $body];
}

function order(Book $book): ?array
{
    $lines = $book->priced($_SESSION['cart'] ?? []);
    if ($lines === []) {
        return null;
    }
    [$number, $total] = $book->order(session_id(), $lines);
    $_SESSION['cart'] = [];
    $body = "<p>Order <b id=\"order\">$number</b> over <b id=\"total\">" . price($total) . '</b>. Thank you!</p>';
    return ['ordered', 'Ordered', $body];
}
