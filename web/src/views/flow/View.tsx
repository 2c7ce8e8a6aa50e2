import { Working } from "../../parts/States";
import { ViewFrame } from "../../parts/ViewFrame";
import type { ViewProps } from "..";

export default function FlowView({ subject }: ViewProps) {
  return (
    <ViewFrame caption={subject.measure.title}>
      <Working what="Reading the maps" />
    </ViewFrame>
  );
}
