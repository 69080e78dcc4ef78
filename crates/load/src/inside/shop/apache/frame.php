<?php
// What all pages share.
declare(strict_types=1);

const STYLE = 'body{font:16px/1.4 sans-serif;margin:0 auto;max-width:60em;color:#222}nav{padding:1em 0;border-bottom:1px solid '
    . '#ccc}nav a{margin-right:.5em}ul{list-style:none;padding:0}li{margin:1em 0}b{color:#060}';

function framed(array $categories, string $id, string $title, string $body): string
{
    $title = escaped($title);
    $links = '';
    foreach ($categories as $number => $name) {
        $links .= " <a href=\"/category/$number\">$name</a>";
    }
    return "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>$title</title><style>" . STYLE
        . "</style></head><body><nav><a href=\"/\">Front page</a>$links<form action=\"/search\"><input name=\"q\">"
        . '<button>Search</button></form> <a href="/cart">Cart</a></nav>'
        . "<main id=\"$id\"><h1>$title</h1>$body</main></body></html>\n";
}

function listed(array $products): string
{
    $list = '<ul>';
    foreach ($products as $product) {
        $list .= "<li><a href=\"/product/{$product['id']}\">" . escaped($product['name']) . '</a> '
            . price((int) $product['price_cents']) . '<br>' . escaped($product['description']);
    }
    return "$list</ul>";
}

function price(int $cents): string
{
    return sprintf('%d.%02d', intdiv($cents, 100), $cents % 100);
}

function escaped(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES);
}
