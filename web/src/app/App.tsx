import { Suspense, useEffect } from "react";
import { askAgain, useParcel, useSession } from "../api/queries";
import { Refusal } from "../api/refusal";
import type { Answer } from "../api/types";
import { useTheme } from "../design/theme";
import { Empty, Failed, Working } from "../parts/States";
import { followHistory, useStore } from "../state/store";
import { type Subject, useSubject } from "../state/subject";
import { VIEWS } from "../views";
import { ErrorBoundary } from "./ErrorBoundary";
import { Story } from "./Story";
import { TopBar } from "./TopBar";
import { useKeys } from "./useKeys";
import { ViewTabs } from "./ViewTabs";

export function App() {
  useTheme();
  useEffect(followHistory, []);
  useKeys();
  const session = useSession();
  const subject = useSubject();
  if (session.error) return <Failed error={session.error} onRetry={() => void session.refetch()} />;
  if (!subject) return <Working what="Waking the models" />;
  return (
    <>
      <TopBar subject={subject} />
      <Stage subject={subject} />
      <Story subject={subject} />
    </>
  );
}

function Stage({ subject }: { subject: Subject }) {
  const name = useStore((state) => state.view);
  const entry = VIEWS.find((view) => view.name === name) ?? VIEWS[0]!;
  return (
    <>
      <ViewTabs current={entry} />
      <main>
        <div id="view" role="tabpanel" aria-labelledby={`tab-${entry.name}`}>
          <ErrorBoundary of={`${entry.name} ${subject.text}`}>
            <Suspense fallback={<Working what="Opening the view" />}>
              <Readable subject={subject}>
                <entry.View subject={subject} />
              </Readable>
            </Suspense>
          </ErrorBoundary>
        </div>
      </main>
    </>
  );
}

/** A text that can't be read is said once, here, and not by every view in its own way. */
function Readable({ subject, children }: { subject: Subject; children: React.ReactNode }) {
  const { text, pair } = subject;
  const { error } = useParcel<Answer>("answer", text.trim() ? { slot: "a", text, pair } : null);
  if (!text.trim()) {
    return (
      <Empty title="Nothing to read yet">
        <p>Type a sentence above, and press Enter.</p>
      </Empty>
    );
  }
  if (error) {
    const passes = error instanceof Refusal && error.passes;
    return <Failed error={error} onRetry={passes ? () => void askAgain() : undefined} />;
  }
  return children;
}
