/** A page in React: two rows, one by the hook, one by the element. */

import { createRoot } from "react-dom/client";
import { usePenchantList } from "penchant-elements/react";
import "penchant-elements";

function Row() {
  const { entries, isLoading, hasMore, more, card } = usePenchantList({ source: "shop", placement: "home", take: 3 });
  if (isLoading && entries.length === 0) return <p>…</p>;
  return (
    <>
      <ol>
        {entries.map((entry) => (
          <li key={entry.id} {...card(entry)}>
            <a href={`#${entry.id}`}>{entry.label}</a>
          </li>
        ))}
      </ol>
      {hasMore && <button onClick={() => more()}>More</button>}
    </>
  );
}

createRoot(document.getElementById("app")!).render(
  <>
    <Row />
    <penchant-row source="shop" placement="picked" heading="Picked" take={3} />
  </>,
);
